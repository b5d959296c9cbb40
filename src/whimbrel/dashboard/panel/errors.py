"""What went wrong lately, and the story of any URL."""

from typing import Final

from nicegui import ui

from whimbrel.dashboard.panel.api import Desk, table
from whimbrel.dashboard.source import Moment
from whimbrel.offline.explain import UrlStory

_RECENT: Final = """
    select strftime(started_at, '%H:%M:%S') as at, outcome, reason, status, url, attempt
    from fetches where outcome in ('failed', 'retry', 'denied', 'gone') order by started_at desc limit 200"""
_COUNTS: Final = """
    select outcome, reason, count(*) as visits, count(distinct host) as hosts, any_value(url) as example
    from fetches where outcome not in ('stored', 'duplicate', 'redirected', 'unchanged')
    group by all order by visits desc limit 50"""


class ErrorsPanel:
    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._asked = ""
        with ui.row().classes("w-full items-end"):
            self._url = ui.input("Why? Any URL").classes("grow").props("data-test=why-url")
            self._url.on("keydown.enter", self._why)
            ui.button("Why", on_click=self._why).props("data-test=why")
        self._story = ui.column().classes("w-full gap-1").props("data-test=story")
        with ui.row().classes("w-full items-center"):
            ui.label("Not stored, by reason").classes("text-lg grow")
            ui.button("Look again", on_click=self._load).props("flat data-test=errors-load")
        self._counts = table(
            {"outcome": "outcome", "reason": "reason", "visits": "visits", "hosts": "hosts", "example": "for example"},
            [],
            "reason",
            pagination=10,
        ).props("data-test=error-counts")
        ui.label("The latest").classes("text-lg")
        self._recent = table(
            {"at": "at", "outcome": "outcome", "reason": "reason", "status": "status", "attempt": "try", "url": "URL"},
            [],
            "url",
            pagination=20,
        ).props("data-test=errors")
        ui.timer(0.1, self._load, once=True)

    def refresh(self, now: Moment, before: Moment | None) -> None:
        """The tables are asked for when somebody wants them."""

    async def _load(self) -> None:
        for shown, sql in ((self._counts, _COUNTS), (self._recent, _RECENT)):
            found = await self._desk.call(self._desk.feed.source.ask, sql)
            shown.rows = found.rows

    async def _why(self) -> None:
        text = (self._url.value or "").strip()
        if not text:
            return
        self._asked = text
        story = await self._desk.call(self._desk.feed.source.story, text)
        if self._asked != text:
            return  # Somebody has asked for another meanwhile.
        self._story.clear()
        with self._story:
            for line in lines(story):
                ui.label(line).classes("text-sm break-all")


def lines(story: UrlStory | str) -> list[str]:
    """A story in sentences."""
    if isinstance(story, str):
        return [story]
    said = list(story.explanation)
    for visit in story.visits:
        found = f", found on {visit['discovered_from']}" if visit["discovered_from"] else ""
        status = f", status {visit['status']}" if visit["status"] else ""
        said.append(f"{visit['started_at']:%H:%M:%S} {visit['outcome']} ({visit['reason']}{status}){found}")
    for page in story.page:
        gone = f", gone since {page['gone_at']:%Y-%m-%d %H:%M}" if page["gone_at"] is not None else ""
        said.append(f"“{page['title']}”, kept in {page['warc_file']} at {page['warc_offset']:,}{gone}")
    for link in story.linked_from:
        said.append(f"linked from {link['source']} as “{link['anchor']}”")  # noqa: PERF401
    for host in story.host:
        error = f"; the last error there, of whichever URL: {host['last_error']}" if host["last_error"] else ""
        said.append(f"its host is {host['qualification']}, {host['queued']:,} URLs queued there{error}")
    return said
