"""The providers of a crawl as its wiring has them, opened without components: what the effects change is real."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from whimbrel.effect.effects import Effects
from whimbrel.effect.seeding import Seeding
from whimbrel.fetch.api import Exchange, Response
from whimbrel.fetch.body import MemoryDocument
from whimbrel.fetch.trouble import Trouble
from whimbrel.flow import Provider, check
from whimbrel.flow.graph import Graph
from whimbrel.frontier.disk_frontier import DiskFrontier
from whimbrel.job.crawl_wiring import configured
from whimbrel.job.options import CrawlOptions
from whimbrel.job.parts import registry
from whimbrel.outcome import Outcome
from whimbrel.parse.api import Parsed, ParsedPage
from whimbrel.qualify.api import Qualification
from whimbrel.route.distributor import Distributor, Routed
from whimbrel.visit import Visit

SEED = "http://a.test/"
FAR_S = 4e9


class Rig:
    def __init__(self, providers: dict[str, Provider]) -> None:
        self.providers = providers
        self.effects: Effects = providers["effects"]  # type: ignore[assignment]
        self.seeding: Seeding = providers["seeding"]  # type: ignore[assignment]
        self.frontier: DiskFrontier = providers["frontier"]  # type: ignore[assignment]
        self._distributor = Distributor()
        self._distributor.bind("router", providers["router"])

    def take(self) -> Visit:
        """The next visit; hosts that want to be are qualified on the way."""
        while True:
            visit = self.frontier.take()
            if visit is not None:
                return visit
            due = self.frontier.take_host()
            if due is None:
                due_s = self.frontier.due_in_s()
                assert due_s is not None, "nothing is due"
                assert due_s < 1.0, "times on disk are rounded up to whole milliseconds"
                continue
            found = Qualification("qualified", FAR_S, ("127.0.0.1",), FAR_S, robots_status=404)
            self.effects.qualified(due.host, found)

    def routed(self, visit: Visit, status: int = 200, body: bytes = b"", **parsed: Any) -> Routed:
        """What the chain makes of an answer."""
        response = Response(status, b"HTTP/1.1 %d X\r\n" % status, "1.1", {}, MemoryDocument(body))
        exchange = Exchange(response, Trouble.NONE, True, visit.address, b"GET / HTTP/1.1\r\n", 1_770_000_000.0, 0.1)
        document = (
            {"page": ParsedPage("text/html", text="words"), "digest": b"%-20d" % hash(body)} if status == 200 else {}
        )
        found = {"outcome": Outcome.STORED, "reason": "new", "comparable": status == 200, **document, **parsed}
        return self._distributor.process(Parsed(visit, exchange, **found))[0]


@asynccontextmanager
async def rig(directory: Path, *seeds: str, **settings: dict[str, Any]) -> AsyncIterator[Rig]:
    options = CrawlOptions(seeds=seeds or (SEED,), delay=0.0, set={"journal": {"reserve_bytes": 0}, **settings})
    known = registry()
    plan = check(configured(options, directory, known), known)
    graph = Graph(plan, {})
    wanted = ("state", "clock", "seen", "content", "gate", "frontier", "router", "journal", "effects", "seeding")
    order = [name for name in plan.provider_order if name in wanted or name not in ("resolver", "transport")]
    for name in order:
        await graph.providers[name].open()
    try:
        yield Rig(graph.providers)
    finally:
        for name in reversed(order):
            await graph.providers[name].close()
