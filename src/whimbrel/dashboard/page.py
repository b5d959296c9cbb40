"""The frame: header, tabs, and the second hand that moves everything."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Final

from nicegui import ui
from nicegui.events import KeyEventArguments

from whimbrel.control.api import Pause, Unpause
from whimbrel.dashboard.feed import MomentFeed
from whimbrel.dashboard.panel.api import Desk, Panel
from whimbrel.dashboard.panel.console import ConsolePanel
from whimbrel.dashboard.panel.control import ControlPanel
from whimbrel.dashboard.panel.errors import ErrorsPanel
from whimbrel.dashboard.panel.hosts import HostsPanel
from whimbrel.dashboard.panel.links import LinksPanel
from whimbrel.dashboard.panel.overview import Overview
from whimbrel.dashboard.panel.wiring import WiringPanel

_PANELS: Final[dict[str, Callable[[Desk], Panel]]] = {
    "Overview": lambda _: Overview(),
    "Wiring": lambda _: WiringPanel(),
    "Hosts": HostsPanel,
    "Errors": ErrorsPanel,
    "SQL": ConsolePanel,
    "Links": LinksPanel,
    "Control": ControlPanel,
}
_EVERY_S: Final = 1.0
_ENDED: Final = """addEventListener("DOMContentLoaded", () => {{
    const [what, next] = document.querySelectorAll("#popup span");
    [what.textContent, next.textContent] = {};
}})"""
"""What the page says when its server is gone. It still tries to connect again."""


def _words(directory: Path) -> str:
    """As a list in JavaScript, which nothing in the directory's name can end."""
    ended = (
        "The dashboard has ended, and with it the crawl if it was begun with --dashboard. You see what was last known."
    )
    words = [ended, f"To see the crawl again: whimbrel dashboard {directory}"]
    return json.dumps(words).replace("<", "\\u003c")


class Frame:
    """One page in one browser."""

    def __init__(self, feed: MomentFeed) -> None:
        self._feed = feed
        self._desk = Desk(feed)
        self._made: dict[str, Panel] = {}
        self._dark = ui.dark_mode(value=None)
        ui.colors(primary="#3f7fd4")
        ui.add_head_html(f"<script>{_ENDED.format(_words(feed.source.directory))}</script>")
        self._header()
        with ui.tab_panels(self._tabs, value="Overview", animated=False).classes("w-full bg-transparent") as panels:
            self._places = {}
            for name in _PANELS:
                with ui.tab_panel(name).classes("p-2 sm:p-4 gap-3") as place:
                    self._places[name] = place
        panels.props("keep-alive")
        self._panels = panels
        ui.keyboard(self._key)
        self._show("Overview")
        ui.timer(_EVERY_S, self._refresh)
        self._tabs.on_value_change(lambda event: self._show(event.value))

    def _header(self) -> None:
        with ui.header().classes("items-center gap-2 py-1 bg-slate-700"):
            ui.label("Whimbrel").classes("text-lg font-medium")
            self._state = ui.badge("…").props("data-test=header-state")
            self._rate = ui.label().classes("tabular-nums text-sm").props("data-test=header-rate")
            with ui.tabs().props("dense no-caps outside-arrows mobile-arrows shrink").classes("grow") as self._tabs:
                for name in _PANELS:
                    ui.tab(name)
            self._pause = ui.button("Pause", on_click=self._toggle).props(
                "flat dense no-caps color=white data-test=pause"
            )
            ui.button(icon="contrast", on_click=self._contrast).props("flat dense color=white data-test=dark").tooltip(
                "light or dark (d)"
            )

    def _show(self, name: str) -> None:
        """Panels are made when they are first looked at."""
        if name not in self._made:
            with self._places[name]:
                self._made[name] = _PANELS[name](self._desk)
        self._refresh()

    def _refresh(self) -> None:
        now = self._feed.now
        if now is None:
            self._state.set_text("waiting for the first commit")
            return
        self._state.set_text(now.status.state)
        self._rate.set_text(f"{now.status.progress.pages_per_s:,.0f} pages/s" if now.live else "")
        self._pause.set_visibility(now.live)
        self._pause.set_text("Unpause" if now.status.state == "paused" else "Pause")
        shown = self._made.get(self._tabs.value or "Overview")
        if shown is not None:
            shown.refresh(now, self._feed.before)

    async def _toggle(self) -> None:
        now = self._feed.now
        if now is not None and now.live:
            await self._desk.act(Unpause() if now.status.state == "paused" else Pause())

    def _contrast(self) -> None:
        self._dark.set_value(not self._dark.value)

    def _key(self, event: KeyEventArguments) -> None:
        """1 to 7 choose a tab, d is light or dark. Not while somebody types."""
        if not event.action.keydown or event.modifiers.ctrl or event.modifiers.alt or event.modifiers.meta:
            return
        names = list(_PANELS)
        if event.key.number is not None and 1 <= event.key.number <= len(names):
            self._tabs.set_value(names[event.key.number - 1])
        elif event.key == "d":
            self._contrast()
