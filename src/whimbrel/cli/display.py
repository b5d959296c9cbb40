"""Progress for people: a live panel on a terminal, plain lines elsewhere."""

import time
from types import TracebackType
from typing import Final, Self

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from whimbrel.job.progress import Progress
from whimbrel.terminal import counted, printable, size

_LINE_EVERY_S: Final = 2.0


class ProgressDisplay:
    """Use as a context; `show` takes the crawl at a moment."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live = Live(console=console, refresh_per_second=8, transient=True) if console.is_terminal else None
        self._last_line = 0.0

    def __enter__(self) -> Self:
        # rich imports what it needs when it prints: later there may be no file descriptor for that.
        self._console.print("", end="", highlight=False, markup=False)
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def say(self, line: str) -> None:
        self._console.print(printable(line), highlight=False, markup=False)

    def show(self, progress: Progress) -> None:
        if self._live is not None:
            self._live.update(_panel(progress))
        elif time.monotonic() - self._last_line >= _LINE_EVERY_S:
            self._last_line = time.monotonic()
            self._console.print(one_line(progress), highlight=False)


def one_line(progress: Progress) -> str:
    outcomes = ", ".join(f"{count:,} {outcome}" for outcome, count in progress.outcomes.items())
    handlers = f"; {_handlers(progress)}" if progress.handlers_failed else ""
    bound = f"; bound by {progress.bound_by}" if progress.bound_by else ""
    return (
        f"{progress.elapsed_s:6.1f} s  {progress.visited:,} visited ({progress.pages_per_s:,.0f}/s), "
        f"{progress.queued:,} queued, {progress.visiting} under way; {outcomes or 'nothing yet'}{handlers}"
        f"{bound}{_ending(progress)}"
    )


def _handlers(progress: Progress) -> str:
    return f"handlers failed on {progress.handlers_failed:,} of {counted(sum(progress.handled.values()), 'page')}"


def _ending(progress: Progress) -> str:
    if progress.left_s is None or not progress.queued:
        return ""
    left = progress.left_s
    text = f"{left:.0f} s" if left < 120 else f"{left / 60:.0f} min" if left < 7200 else f"{left / 3600:.1f} h"
    return f"; about {text} to go, then {progress.left_by} ends it" if progress.left_by else f"; at least {text} to go"


def _panel(progress: Progress) -> Group:
    numbers = Table.grid(padding=(0, 2))
    numbers.add_row("visited", f"{progress.visited:,}", f"{progress.pages_per_s:,.0f} pages/s")
    numbers.add_row(
        "queued", f"{progress.queued:,}", f"{progress.visiting} under way, {counted(progress.hosts, 'host')}"
    )
    numbers.add_row("bytes", size(progress.bytes), f"{progress.elapsed_s:.1f} s{_ending(progress)}")
    for outcome, count in progress.outcomes.items():
        numbers.add_row(Text(outcome, style="green" if outcome == "stored" else "yellow"), f"{count:,}", "")
    if progress.handlers_failed:
        numbers.add_row(Text("handlers", style="red"), f"{progress.handlers_failed:,}", "pages on which they failed")
    said = f"bound by {progress.bound_by}" if progress.bound_by else ""
    bound = Text(said, style="red" if progress.trouble else "dim")
    return Group(numbers, Text(""), bound)
