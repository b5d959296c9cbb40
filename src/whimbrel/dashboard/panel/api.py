"""What all panels have in common."""

import asyncio
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from nicegui import ui

from whimbrel.control.api import Action, Block, ControlError
from whimbrel.dashboard.feed import MomentFeed
from whimbrel.dashboard.source import Moment

_T = TypeVar("_T")


class Panel(Protocol):
    def refresh(self, now: Moment, before: Moment | None) -> None:
        """Show another moment."""


class Desk:
    """The panels' common tools: questions and actions, off the loop's thread."""

    def __init__(self, feed: MomentFeed) -> None:
        self.feed = feed

    async def act(self, action: Action, *, sure: str = "") -> bool:
        """Have an action carried out and tell what came of it; `sure` is what the user is asked before."""
        if sure and not await confirmed(sure):
            return False
        done = await self.ask(self.feed.source.act, action)
        if done is None:
            return False
        ui.notify(f"{done.action}: {done.effect}", type="positive", multi_line=True)
        await self.feed.look()
        return True

    async def block(self, what: tuple[str, ...]) -> None:
        """Block, after a question that says what it comes to."""
        question = await self.ask(self.feed.source.block_question, what)
        if question is not None:
            await self.act(Block(what), sure=question)

    async def ask(self, question: Callable[..., _T], *arguments: object) -> _T | None:
        """Something of the running crawl; None, and said why, when it cannot be reached."""
        try:
            return await self.feed.call(question, *arguments)
        except ControlError as error:
            ui.notify(str(error), type="negative", multi_line=True, timeout=8_000, close_button="OK")
            return None

    async def call(self, question: Callable[..., Any], *arguments: Any) -> Any:
        return await asyncio.to_thread(question, *arguments)


async def confirmed(question: str) -> bool:
    with ui.dialog() as dialog, ui.card():
        ui.label(question).props("data-test=question")
        with ui.row().classes("w-full justify-end"):
            ui.button("Cancel", on_click=lambda: dialog.submit(False)).props("flat")  # noqa: FBT003
            ui.button("Yes", on_click=lambda: dialog.submit(True)).props("data-test=yes")  # noqa: FBT003
    answer = await dialog
    dialog.delete()
    return bool(answer)


def table(columns: dict[str, str], rows: list[dict[str, Any]], key: str, **options: Any) -> ui.table:
    """Columns by their names in the rows, and their headings; numbers to the right."""
    shown = [
        {"name": name, "label": label, "field": name, "sortable": True, "align": "left"}
        for name, label in columns.items()
    ]
    return ui.table(columns=shown, rows=rows, row_key=key, **options).classes("w-full").props("dense flat wrap-cells")
