"""A crawl's log as JSON lines, for machines that read it: one object for each message and, every few seconds, for the
numbers."""

import time
from datetime import UTC, datetime
from types import TracebackType
from typing import Final, Self

import msgspec
import typer

from whimbrel.job.progress import Progress

_EVERY_S: Final = 5.0


class JsonLog:
    """Takes the place of `ProgressDisplay`. Lines go to standard error: standard output is for the summary."""

    def __init__(self) -> None:
        self._last = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass

    def say(self, line: str) -> None:
        self._write({"kind": "message", "text": line})

    def show(self, progress: Progress) -> None:
        if time.monotonic() - self._last >= _EVERY_S:
            self._last = time.monotonic()
            self._write({"kind": "progress", **msgspec.to_builtins(progress)})

    def _write(self, what: dict[str, object]) -> None:
        line = {"at": datetime.now(UTC).isoformat(timespec="milliseconds"), **what}
        typer.echo(msgspec.json.encode(line), err=True)
