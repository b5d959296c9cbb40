"""Hosts: search, sort, and what can be done about each."""

from typing import Final
from urllib.parse import urlsplit

from nicegui import ui

from whimbrel.control.api import Allow, Requeue, Speed, Unblock
from whimbrel.dashboard.panel.api import Desk, table
from whimbrel.dashboard.source import Moment

_COLUMNS: Final = {
    "site": "host",
    "qualification": "standing",
    "queued": "queued",
    "fetched": "fetched",
    "failed": "failed",
    "delay_s": "delay",
    "ip": "address",
    "robots_status": "robots",
    "last_error": "last error",
}
_ORDERS: Final = {"queued": "most queued", "fetched": "most fetched", "failed": "most failed", "host": "by name"}
_MOST: Final = 500


class HostsPanel:
    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._live = False
        self._asked = 0
        """Questions so far: of several under way only the answer to the last is shown."""
        with ui.row().classes("w-full items-end"):
            self._search = ui.input("Search hosts").props("clearable data-test=host-search").classes("grow")
            self._search.on("keydown.enter", self._load)
            self._order = ui.select(dict(_ORDERS), value="queued", label="Order", on_change=self._load)
            ui.button("Search", on_click=self._load).props("data-test=host-load")
        self._table = table(_COLUMNS, [], "site", selection="single", pagination=20).props("data-test=hosts")
        self._blocked = ui.label().classes("text-sm opacity-70").props("data-test=blocked")
        with ui.row().classes("items-end") as self._actions:
            ui.button("Block", on_click=self._block).props("data-test=host-block")
            ui.button("Unblock", on_click=self._unblock).props("data-test=host-unblock")
            ui.button("Ask again", on_click=self._allow).props("data-test=host-allow")
            ui.button("Requeue failures", on_click=self._requeue).props("data-test=host-requeue")
            self._delay = ui.number("Delay, s", min=0, value=1.0).classes("w-28").props("data-test=host-delay-s")
            ui.button("Set delay", on_click=self._slow).props("data-test=host-delay")
        ui.timer(0.1, self._load, once=True)

    def refresh(self, now: Moment, _: Moment | None) -> None:
        self._live = now.live
        self._actions.set_visibility(now.live)
        said = f"blocked: {', '.join(now.blocked)}" if now.blocked else "nothing is blocked"
        if now.blocked and not now.live:
            said += f"; to unblock: whimbrel control {now.status.directory} unblock …"
        self._blocked.set_text(said)

    async def _load(self) -> None:
        order = self._order.value if self._order.value in _ORDERS else "queued"
        self._asked += 1
        asked = self._asked
        found = await self._desk.call(self._desk.feed.source.hosts, self._search.value or "", order, _MOST)
        if asked != self._asked:
            return
        if found.error:
            ui.notify(found.error, type="warning")
        self._table.rows = found.rows
        self._table.selected = []

    def _chosen(self) -> str:
        """The site that is selected; empty, and said so, when none is."""
        if not self._table.selected:
            ui.notify("Select a host first", type="warning")
            return ""
        return str(self._table.selected[0]["site"])

    async def _block(self) -> None:
        site = self._chosen()
        if site:
            await self._desk.block((site,))

    async def _unblock(self) -> None:
        site = self._chosen()
        if not site:
            return
        by = await self._desk.ask(self._desk.feed.source.blocking, site)
        if by:
            more = "" if by == (site,) else f"{site} is blocked by {', '.join(by)}. Unblock all of that?"
            await self._desk.act(Unblock(by), sure=more)
        elif by is not None:
            ui.notify(f"{site} is not blocked", type="warning")

    async def _allow(self) -> None:
        if site := self._chosen():
            await self._desk.act(Allow(site))

    async def _requeue(self) -> None:
        if site := self._chosen():
            await self._desk.act(Requeue(host=site), sure=f"Visit all failed URLs of {site} once more?")

    async def _slow(self) -> None:
        if site := self._chosen():
            host = urlsplit(site).hostname or ""
            await self._desk.act(Speed(delay_s=float(self._delay.value or 0.0), of=host))
