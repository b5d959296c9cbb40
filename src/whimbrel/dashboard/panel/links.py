"""Who links to whom: the hosts of the crawl as a picture."""

from typing import Final

from nicegui import ui

from whimbrel.dashboard.chart import hosts_chart
from whimbrel.dashboard.panel.api import Desk
from whimbrel.dashboard.source import Moment
from whimbrel.terminal import counted

_SQL: Final = """
    select source, target, count(*) as links
    from (select host(source) as source, host(target) as target from (select source, target from links limit 1000000))
    where source <> target group by all order by links desc limit {most}"""


class LinksPanel:
    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        with ui.row().classes("w-full items-center"):
            self._said = ui.label().classes("grow opacity-70 text-sm").props("data-test=links-said")
            self._most = ui.select([50, 150, 500], value=150, label="Pairs of hosts", on_change=self._load).classes(
                "w-32"
            )
            ui.button("Look again", on_click=self._load).props("flat")
        self._chart = ui.echart({"series": []}).classes("w-full").style("height: 70vh").props("data-test=links")
        ui.timer(0.1, self._load, once=True)

    def refresh(self, now: Moment, before: Moment | None) -> None:
        """It is drawn when somebody wants it."""

    async def _load(self) -> None:
        found = await self._desk.call(self._desk.feed.source.ask, _SQL.format(most=int(self._most.value or 150)))
        hosts = {row[end] for row in found.rows for end in ("source", "target")}
        self._said.set_text(found.error or f"{counted(len(hosts), 'host')}, {counted(len(found.rows), 'pair')} linked")
        self._chart.options.clear()
        self._chart.options.update(hosts_chart(found.rows))
