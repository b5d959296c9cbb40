"""Questions in SQL, with drawings. Only SELECT is answered."""

from typing import Final

from nicegui import ui

from whimbrel.dashboard.chart import answer_chart
from whimbrel.dashboard.panel.api import Desk
from whimbrel.dashboard.source import Moment, QueryAnswer
from whimbrel.terminal import counted

_EXAMPLES: Final = {
    "pages by host": "select host, count(*) as pages from pages group by host order by pages desc limit 20",
    "outcomes": "select outcome, reason, count(*) as visits from fetches group by all order by visits desc",
    "types": "select mime, count(*) as pages, sum(length) as bytes from pages group by mime order by pages desc",
    "most linked": "select target, count(*) as links from links group by target order by links desc limit 20",
    "slow hosts": "select host, round(avg(elapsed_ms)) as ms from fetches group by host order by ms desc limit 20",
    "actions": 'select "at", actor, action, subject, detail from events order by "at" desc',
}


class ConsolePanel:
    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._found = QueryAnswer()
        self._asked = ""
        with ui.row().classes("w-full gap-2"):
            for name, sql in _EXAMPLES.items():
                ui.button(name, on_click=lambda sql=sql: self._example(sql)).props("outline dense no-caps")
        self._sql = ui.textarea("SELECT …", value=_EXAMPLES["pages by host"]).classes("w-full font-mono")
        self._sql.props("autogrow outlined data-test=sql")
        self._sql.on("keydown.ctrl.enter", self._run)
        with ui.row().classes("w-full items-center"):
            ui.button("Run (Ctrl+Enter)", on_click=self._run).props("no-caps data-test=sql-run")
            self._kind = ui.toggle(["table", "bar", "line", "pie"], value="table", on_change=self._show)
            self._kind.props("data-test=sql-kind no-caps")
            self._said = ui.label().classes("text-sm opacity-70 break-all").props("data-test=sql-said")
        self._shown = ui.column().classes("w-full")

    def refresh(self, now: Moment, before: Moment | None) -> None:
        """It answers when it is asked."""

    async def _example(self, sql: str) -> None:
        self._sql.value = sql
        await self._run()

    async def _run(self) -> None:
        self._said.set_text("…")
        self._asked = asked = self._sql.value or ""
        found = await self._desk.call(self._desk.feed.source.ask, asked)
        if self._asked != asked:
            return  # Somebody has asked another question meanwhile.
        self._found = found
        shown = len(self._found.rows)
        more = f", the first {shown:,} are shown" if shown < self._found.total else ""
        self._said.set_text(self._found.error or f"{counted(self._found.total, 'row')}{more}")
        self._show()

    def _show(self) -> None:
        self._shown.clear()
        found = self._found
        if not found.columns:
            return
        with self._shown:
            if self._kind.value != "table" and len(found.columns) > 1:
                drawn = ui.echart(answer_chart(str(self._kind.value), found.rows, found.columns))
                drawn.classes("w-full h-96").props("data-test=sql-chart")
                return
            columns = [{"name": n, "label": n, "field": n, "sortable": True, "align": "left"} for n in found.columns]
            rows = [{"_row": number, **row} for number, row in enumerate(found.rows)]
            answer = ui.table(columns=columns, rows=rows, row_key="_row", pagination=25)
            answer.classes("w-full").props("dense flat wrap-cells data-test=sql-answer")
