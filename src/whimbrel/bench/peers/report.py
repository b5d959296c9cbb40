"""What the runs say: medians, ratios, and whether the bars are met."""

from collections.abc import Iterator
from statistics import median
from typing import Final, Literal

import msgspec
from rich.console import Console
from rich.table import Table

from whimbrel.bench.peers.api import PeerRun, PeersResult

OWN: Final = "whimbrel"
BARS: Final = {"scrapy": 0.1, "wget2": 4.0}
"""CPU per page of Whimbrel is at most this many times that of the peer."""
_JUDGED: Final = ("documents", "small", "realistic")
"""Corpora with bars. What handlers cost is stated, not judged."""
_WHOLE: Final = 0.99

State = Literal["met", "missed", "not judged"]


class PeerRow(msgspec.Struct, frozen=True, kw_only=True):
    """One peer on one corpus: medians of its rounds."""

    corpus: str
    peer: str
    version: str
    rounds: int
    pages: int
    expected: int
    cpu_ms_per_page: float | None
    """None when it fetched nothing."""
    spread: tuple[float, float] | None
    """The least and the most of its rounds."""
    pages_per_s: float
    peak_mb: float
    stored_bytes: int
    kept: dict[str, int]
    ratio: float | None
    """CPU per page in multiples of Whimbrel's; None when there is no such figure."""
    notes: list[str]

    @property
    def is_whole(self) -> bool:
        return self.pages >= self.expected * _WHOLE


class BarVerdict(msgspec.Struct, frozen=True):
    corpus: str
    peer: str
    bar: float
    measured: float | None
    state: State
    reason: str = ""


def rows(found: PeersResult) -> list[PeerRow]:
    grouped: dict[tuple[str, str], list[PeerRun]] = {}
    for run in found.runs:
        grouped.setdefault((run.corpus, run.peer), []).append(run)
    own = {corpus: _cpu_ms(runs) for (corpus, peer), runs in grouped.items() if peer == OWN}
    return [_row(found, runs, own.get(corpus)) for (corpus, _), runs in grouped.items()]


def _row(found: PeersResult, runs: list[PeerRun], own_ms: float | None) -> PeerRow:
    first, cpu_ms = runs[0], _cpu_ms(runs)
    each = [run.cpu_s / run.pages * 1e3 for run in runs if run.pages]
    again = max(run.fetches - run.pages for run in runs)
    notes = list(dict.fromkeys(run.note for run in runs if run.note))
    if again > first.expected * (1 - _WHOLE):
        notes.append(f"fetched {again:,} pages again")
    return PeerRow(
        corpus=first.corpus,
        peer=first.peer,
        version=found.versions.get(first.peer, ""),
        rounds=len(runs),
        pages=min(run.pages for run in runs),
        expected=first.expected,
        cpu_ms_per_page=cpu_ms,
        spread=(min(each), max(each)) if each else None,
        pages_per_s=median(run.pages / run.elapsed_s for run in runs),
        peak_mb=max(run.peak_mb for run in runs),
        stored_bytes=int(median(run.stored_bytes for run in runs)),
        kept=runs[-1].kept,
        ratio=cpu_ms / own_ms if cpu_ms is not None and own_ms is not None else None,
        notes=notes,
    )


def _cpu_ms(runs: list[PeerRun]) -> float | None:
    each = [run.cpu_s / run.pages * 1e3 for run in runs if run.pages]
    return median(each) if each else None


def verdicts(table: list[PeerRow]) -> list[BarVerdict]:
    corpora = [name for name in dict.fromkeys(row.corpus for row in table) if name in _JUDGED]
    by_name = {(row.corpus, row.peer): row for row in table}
    return [
        _judge(corpus, peer, bar, by_name.get((corpus, OWN)), by_name.get((corpus, peer)))
        for corpus in corpora
        for peer, bar in BARS.items()
    ]


def _judge(corpus: str, peer: str, bar: float, own: PeerRow | None, other: PeerRow | None) -> BarVerdict:
    """A crawl that left pages out proves nothing: of ours it is a miss, of a peer no measure."""
    if own is None:
        return BarVerdict(corpus, peer, bar, None, "not judged", "Whimbrel did not run")
    if not own.is_whole or own.cpu_ms_per_page is None:
        return BarVerdict(corpus, peer, bar, None, "missed", "Whimbrel did not fetch every page")
    if other is None or not other.is_whole or other.cpu_ms_per_page is None:
        reason = f"{peer} did not run" if other is None else f"{peer} did not fetch every page"
        return BarVerdict(corpus, peer, bar, None, "not judged", reason)
    measured = own.cpu_ms_per_page / other.cpu_ms_per_page
    return BarVerdict(corpus, peer, bar, measured, "met" if measured <= bar else "missed")


def exit_code(table: list[PeerRow]) -> int:
    """0 all bars met, 1 one missed, 3 none missed but some not judged, or nobody ran."""
    judged = verdicts(table)
    states = {verdict.state for verdict in judged}
    if "missed" in states:
        return 1
    return 3 if "not judged" in states or not table else 0


def show(console: Console, found: PeersResult) -> None:
    table = rows(found)
    for corpus in dict.fromkeys([*(row.corpus for row in table), *(absent.corpus for absent in found.absent)]):
        console.print(f"[bold]{corpus}[/bold]", highlight=False)
        console.print(_table(found, table, corpus))
    console.print(f"Served by {found.server}; {found.cores}.", highlight=False, markup=False)
    for line in (*_settings(found, table), *_remarks(found, table)):
        console.print(line, highlight=False, markup=False)


def _table(found: PeersResult, table: list[PeerRow], corpus: str) -> Table:
    heads = ("peer", "version", "pages", "CPU ms/page", "pages/s", "peak MB", "stored MB", "CPU to Whimbrel's")
    drawn = Table(*heads, box=None, padding=(0, 2))
    for row in (row for row in table if row.corpus == corpus):
        cpu = "–" if row.cpu_ms_per_page is None else f"{row.cpu_ms_per_page:.2f}"
        if row.rounds > 1 and row.spread is not None:
            cpu += f" ({row.spread[0]:.2f}–{row.spread[1]:.2f})"
        drawn.add_row(
            *(row.peer, row.version, f"{row.pages:,}", cpu, f"{row.pages_per_s:,.0f}", f"{row.peak_mb:,.0f}"),
            *(f"{row.stored_bytes / 1e6:,.1f}", "–" if row.ratio is None else f"{row.ratio:.2f} ×"),
        )
    for absent in (absent for absent in found.absent if absent.corpus == corpus):
        drawn.add_row(absent.peer, absent.reason)
    return drawn


def _settings(found: PeersResult, table: list[PeerRow]) -> Iterator[str]:
    """What was on. What Whimbrel does is seen from what it kept, which no text can get wrong."""
    for peer, settings in found.settings.items():
        yield f"{peer}: {settings}."
    for row in table:
        if row.peer == OWN:
            kept = ", ".join(f"{kind} {size / 1e6:,.1f} MB" for kind, size in row.kept.items()) or "nothing"
            yield f"whimbrel kept of {row.corpus}: {kept}."


def _remarks(found: PeersResult, table: list[PeerRow]) -> Iterator[str]:
    for row in table:
        if row.expected < found.pages[row.corpus]:
            yield (
                f"{row.peer} crawled a sample of {row.corpus}: whole neighbourhoods with {row.expected:,} pages. "
                "Its start, which is counted, weighs more on fewer pages."
            )
        yield from (f"{row.peer} on {row.corpus}: {note}" for note in row.notes)
    for verdict in verdicts(table):
        said = verdict.reason if verdict.measured is None else f"{verdict.measured:.2f} times"
        yield f"{verdict.corpus}: CPU at most {verdict.bar:g} times {verdict.peer}'s: {verdict.state} ({said})."
