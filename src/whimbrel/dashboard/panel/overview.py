"""How the crawl is doing."""

from collections.abc import Callable
from typing import Any, Final

from nicegui import ui

from whimbrel.control.history import Sample
from whimbrel.dashboard.chart import over_time, rates, values
from whimbrel.dashboard.source import Moment
from whimbrel.job.progress import Progress
from whimbrel.terminal import size

_NUMBERS: Final[dict[str, tuple[str, Callable[[Moment], str]]]] = {
    "state": ("state", lambda now: now.status.state),
    "visited": ("visited", lambda now: f"{now.status.progress.visited:,}"),
    "rate": ("pages/s", lambda now: f"{now.status.progress.pages_per_s:,.0f}"),
    "queued": ("queued", lambda now: f"{now.status.progress.queued:,}"),
    "visiting": ("under way", lambda now: f"{now.status.progress.visiting:,}"),
    "hosts": ("hosts", lambda now: f"{now.status.progress.hosts:,}"),
    "bytes": ("received", lambda now: size(now.status.progress.bytes)),
    "archive": ("archive", lambda now: size(now.status.stored_bytes["archive"])),
    "tables": ("tables", lambda now: size(now.status.stored_bytes["tables"])),
    "stored-state": ("state on disk", lambda now: size(now.status.stored_bytes["state"])),
    "memory": ("memory", lambda now: size(now.status.memory_bytes)),
    "disk": ("disk free", lambda now: size(now.status.disk_free_bytes)),
    "commit": ("commit", lambda now: f"{now.status.commit:,}"),
    "left": ("to go", lambda now: to_go(now.status.progress)),
}
_OF_A_RUN: Final = frozenset(("rate", "visiting", "memory", "left"))
"""Numbers that only a crawl that runs has."""
_MOST_COUNTS: Final = 10
Series = Callable[[list[Sample]], dict[str, Any]]
_CHARTS: Final[dict[str, tuple[str, Series]]] = {
    "pages": ("Pages per second", lambda found: over_time({"pages": rates(found, "visited")})),
    "bytes": ("Megabytes per second", lambda found: over_time({"MB": rates(found, "bytes", 1e-6)})),
    "outcomes": (
        "Outcomes per second",
        lambda found: over_time(
            {name: rates(found, name) for name in ("stored", "duplicate", "redirected", "failed", "other")},
            stacked=True,
        ),
    ),
    "statuses": (
        "Answers per second, by status",
        lambda found: over_time(
            {
                "2xx": rates(found, "ok"),
                "3xx": rates(found, "moved"),
                "4xx": rates(found, "client_errors"),
                "5xx": rates(found, "server_errors"),
            },
            stacked=True,
        ),
    ),
    "latency": (
        "Milliseconds to answer",
        lambda found: over_time({"half are faster": values(found, "p50_ms"), "95 %": values(found, "p95_ms")}),
    ),
    "queue": ("URLs queued", lambda found: over_time({"queued": values(found, "queued")})),
}


class Overview:
    def __init__(self) -> None:
        self._warnings = ui.column().classes("w-full gap-1")
        self._warned: list[str] = []
        with ui.row().classes("w-full gap-2"):
            self._tiles = {name: _tile(name, label) for name, (label, _) in _NUMBERS.items()}
        self._bound = ui.label().classes("opacity-70").props("data-test=bound")
        with ui.row().classes("w-full gap-3 items-start"):
            self._outcomes, self._reasons = _counts("outcomes"), _counts("reasons")
        self._charts: dict[str, ui.echart] = {}
        self._cards: dict[str, ui.card] = {}
        with ui.element("div").classes("grid grid-cols-1 lg:grid-cols-2 gap-3 w-full") as self._drawn:
            for name, (title, draw) in _CHARTS.items():
                with ui.card().classes("w-full p-2") as self._cards[name]:
                    ui.label(title).classes("text-sm opacity-70")
                    self._charts[name] = ui.echart(draw([])).classes("w-full h-48").props(f"data-test=chart-{name}")

    def refresh(self, now: Moment, before: Moment | None) -> None:  # noqa: ARG002 - the history has what was
        for name, (_, say) in _NUMBERS.items():
            tile, number = self._tiles[name]
            tile.set_visibility(now.live or name not in _OF_A_RUN)
            number.set_text(say(now))
        bound = now.status.progress.bound_by
        self._bound.set_text(f"bound by {bound}" if bound else "")
        _fill(self._outcomes, now.status.progress.outcomes)
        _fill(self._reasons, now.status.progress.reasons)
        self._warn(now)
        self._drawn.set_visibility(bool(now.history))
        self._cards["queue"].set_visibility(now.live)
        for name, (_, draw) in _CHARTS.items():
            drawing = draw(now.history)
            chart = self._charts[name]
            if chart.options != drawing:
                chart.options.clear()
                chart.options.update(drawing)

    def _warn(self, now: Moment) -> None:
        said = [warning.code + warning.cause for warning in now.status.warnings]
        if said == self._warned:
            return
        self._warned = said
        self._warnings.clear()
        with self._warnings:
            for warning in now.status.warnings:
                with ui.card().classes("w-full p-2 border-l-4 border-amber-500"):
                    ui.label(warning.cause).classes("font-medium").props(f"data-test=warning-{warning.code}")
                    ui.label(warning.remedy).classes("text-sm opacity-70")


def _tile(name: str, label: str) -> tuple[ui.card, ui.label]:
    with ui.card().classes("p-2 px-3 gap-0 grow") as card:
        ui.label(label).classes("text-xs opacity-60")
        return card, ui.label("").classes("text-xl tabular-nums").props(f"data-test={name}")


def _counts(name: str) -> ui.table:
    columns = [
        {"name": "what", "label": name, "field": "what", "align": "left"},
        {"name": "count", "label": "count", "field": "count", "align": "right"},
    ]
    found = ui.table(columns=columns, rows=[], row_key="what")
    return found.classes("grow").props(f"dense flat hide-bottom data-test=table-{name}")


def _fill(found: ui.table, counts: dict[str, int]) -> None:
    most = sorted(counts.items(), key=lambda pair: -pair[1])[:_MOST_COUNTS]
    rows = [{"what": name, "count": count} for name, count in most]
    if rows != found.rows:
        found.rows = rows


def to_go(progress: Progress) -> str:
    if progress.left_s is None:
        return "–"
    text = duration(progress.left_s)
    return f"{text}, then {progress.left_by}" if progress.left_by else f"at least {text}"


def duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7_200 else f"{seconds / 3_600:.1f} h"
