"""All actions, each with what it does."""

import json
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
from nicegui import ui

from whimbrel.control.api import (
    Abort,
    Action,
    Add,
    Allow,
    Bind,
    Checkpoint,
    Pause,
    Remove,
    Requeue,
    Seed,
    Set,
    Speed,
    Stop,
    Unblock,
    Unpause,
)
from whimbrel.dashboard.panel.api import Desk
from whimbrel.dashboard.source import Moment

_Make = Callable[[], Action | None]


class ControlPanel:
    """A form for each action; what is empty is left out."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._idle = ui.label("No crawl runs: there is nothing to steer.").props("data-test=idle")
        with ui.element("div").classes("grid grid-cols-1 md:grid-cols-2 xl:grid-cols-3 gap-3 w-full") as self._all:
            self._run_card()
            self._speed_card()
            self._list_card("Block", "Hosts, domains, HOST:PORT, sites, patterns with *", self._desk.block)
            self._list_card("Unblock", "As they were blocked", lambda what: self._desk.act(Unblock(what)))
            self._list_card("Seed", "URLs to begin with", lambda urls: self._desk.act(Seed(urls)))
            self._allow_card()
            self._requeue_card()
            self._set_card()
            self._wiring_card()
            self._add_card()

    def refresh(self, now: Moment, _: Moment | None) -> None:
        self._idle.set_visibility(not now.live)
        self._all.set_visibility(now.live)

    def _card(self, title: str, text: str) -> ui.card:
        card = ui.card().classes("w-full p-3 gap-2")
        with card:
            ui.label(title).classes("text-lg")
            ui.label(text).classes("text-sm opacity-70")
        return card

    def _button(self, label: str, make: _Make, sure: str = "", test: str = "") -> None:
        async def act() -> None:
            try:
                action = make()
            except (ValueError, msgspec.ValidationError) as error:
                ui.notify(str(error), type="negative")
                return
            if action is not None:
                await self._desk.act(action, sure=sure)

        ui.button(label, on_click=act).props(f"no-caps data-test={test or 'do-' + label.lower().replace(' ', '-')}")

    def _run_card(self) -> None:
        with self._card("Run", "A stopped crawl goes on with `whimbrel resume`."), ui.row():
            self._button("Pause", Pause)
            self._button("Unpause", Unpause)
            self._button("Checkpoint", Checkpoint)
            self._button("Stop", Stop, "Let the visits under way end, and end the crawl?")
            self._button("Abort", Abort, "End the crawl now?")

    def _speed_card(self) -> None:
        with self._card("Speed", "What is empty stays as it is; 0 lifts a limit."):
            with ui.row().classes("w-full"):
                pages = ui.number("Pages/s", min=0).classes("w-24").props("data-test=speed-pages")
                size = ui.number("Bytes/s", min=0).classes("w-28")
                connections = ui.number("Connections", min=1).classes("w-28").props("data-test=speed-connections")
                delay = ui.number("Delay, s", min=0).classes("w-24")
                of = ui.input("of host or domain").classes("w-40")

            def make() -> Action:
                return Speed(
                    pages_per_s=pages.value,
                    bytes_per_s=None if size.value is None else int(size.value),
                    connections=None if connections.value is None else int(connections.value),
                    delay_s=delay.value,
                    of=(of.value or "").strip(),
                )

            self._button("Set speed", make)

    def _list_card(self, title: str, label: str, act: Callable[[tuple[str, ...]], Awaitable[object]]) -> None:
        with self._card(title, label + "; one in each line."):
            words = ui.textarea().classes("w-full").props(f"autogrow outlined dense data-test={title.lower()}-what")

            async def clicked() -> None:
                found = tuple((words.value or "").split())
                if found:
                    await act(found)
                else:
                    ui.notify("Write at least one", type="warning")

            ui.button(title, on_click=clicked).props(f"no-caps data-test=do-{title.lower()}")

    def _allow_card(self) -> None:
        with self._card("Ask a host again", "One that is disqualified, parked or given up."):
            host = ui.input("Host").classes("w-full").props("data-test=allow-host")
            without = ui.checkbox("also when its robots.txt cannot be obtained")
            self._button(
                "Ask again", lambda: msgspec.convert({"host": host.value or "", "without_robots": without.value}, Allow)
            )

    def _requeue_card(self) -> None:
        with self._card("Requeue", "Visit URLs once more that ended without a page."):
            with ui.row():
                outcome = ui.select(["failed", "gone", "denied"], value="failed", label="Outcome").classes("w-28")
                outcome.props("data-test=requeue-outcome")
                reason = ui.input("Reason").classes("w-32")
                host = ui.input("Host").classes("w-40")

            def make() -> Action:
                given: dict[str, Any] = {
                    "outcome": outcome.value,
                    "reason": reason.value or "",
                    "host": host.value or "",
                }
                return msgspec.convert(given, Requeue)

            self._button("Requeue", make, "Visit all of these once more?")

    def _set_card(self) -> None:
        with self._card(
            "Set", "Options and settings: order=depth, router.max_depth=5, parser.instances=2; one in each line."
        ):
            lines = ui.textarea().classes("w-full font-mono").props("autogrow outlined dense data-test=set-what")
            self._button("Set", lambda: Set(settings(lines.value or "")))

    def _wiring_card(self) -> None:
        with self._card("Wiring", "Put another provider in the place of one, or remove a component."):
            with ui.row():
                provider = ui.input("Provider", placeholder="seen").classes("w-28").props("data-test=bind-provider")
                use = ui.input("Use", placeholder="bloom-seen").classes("w-36").props("data-test=bind-use")
                self._button(
                    "Bind", lambda: msgspec.convert({"provider": provider.value or "", "use": use.value or ""}, Bind)
                )
            with ui.row():
                name = ui.input("Component").classes("w-36").props("data-test=remove-name")
                self._button(
                    "Remove", lambda: msgspec.convert({"name": name.value or ""}, Remove), "Remove this component?"
                )

    def _add_card(self) -> None:
        with self._card(
            "Add", "A component, with its connectors (parser.parsed -> tally.parsed) and settings (KEY=VALUE)."
        ):
            with ui.row():
                name = ui.input("Component", placeholder="tally").classes("w-28").props("data-test=add-name")
                use = ui.input("Use", placeholder="Tally").classes("w-36").props("data-test=add-use")
            lines = ui.textarea().classes("w-full font-mono").props("autogrow outlined dense data-test=add-what")
            self._button("Add", lambda: addition(name.value or "", use.value or "", lines.value or ""))


def addition(name: str, use: str, text: str) -> Add:
    """FROM -> TO for a connector, else KEY=VALUE, in each line. ValueError for what is neither."""
    lines = list(filter(str.strip, text.splitlines()))
    joints = [
        dict(zip(("from", "to"), map(str.strip, line.split("->")), strict=True)) for line in lines if "->" in line
    ]
    rest = "\n".join(line for line in lines if "->" not in line)
    given = {"name": name, "use": use, "connectors": joints, "config": settings(rest) if rest else {}}
    return msgspec.convert(given, Add)


def settings(text: str) -> dict[str, Any]:
    """KEY=VALUE in each line; values as JSON, else as text. ValueError for a line that is neither."""
    found: dict[str, Any] = {}
    for line in filter(str.strip, text.splitlines()):
        name, equals, value = line.partition("=")
        if not equals or not name.strip():
            raise ValueError(f"{line}: write KEY=VALUE")
        try:
            found[name.strip()] = json.loads(value)
        except json.JSONDecodeError:
            found[name.strip()] = value.strip()
    if not found:
        raise ValueError("write KEY=VALUE, one in each line")
    return found
