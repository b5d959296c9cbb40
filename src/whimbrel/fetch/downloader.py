"""Keeps many visits under way at once."""

from collections import deque
from functools import partial

from whimbrel.fetch.api import Exchange, Fetched, Traffic, Transport
from whimbrel.flow import Async, Config, Delivery, In, Needs, Out
from whimbrel.visit import Visit


class DownloaderConfig(Config, frozen=True):
    connections: int = 32
    """Visits under way at once. The transport must allow as many, and some for the qualifier of hosts."""


class Downloader(Async):
    """One task for all visits: it starts what there is room for and hands on what has landed. A visit keeps its place
    until it is handed on, so what has landed is never more than `connections`; but a full output keeps nobody else
    waiting: who was let out by the gate must be on the way at once, or two visits come closer together than they
    should."""

    Config = DownloaderConfig
    live = frozenset({"connections"})
    visits = In(Visit)
    fetched = Out(Fetched)
    transport = Needs(Transport)
    gate = Needs(Traffic)

    def __init__(self, config: DownloaderConfig | None = None) -> None:
        super().__init__(config)
        self._landed: deque[tuple[Delivery[Visit], Exchange]] = deque()
        self._under_way = 0

    async def run(self) -> None:
        while True:
            self._start()
            while self._landed and self._hand_on():
                # Each place is filled as soon as it is free, and not when all that have landed are handed on.
                self._start()
            if self._under_way == 0 and not self._landed and self.visits.ended:
                return
            await self.woken()

    def _hand_on(self) -> bool:
        """What landed first; false while the output is full."""
        delivery, exchange = self._landed[0]
        if not self.fetched.offer(Fetched(delivery.item, exchange)):
            return False
        self._landed.popleft()
        delivery.done()
        return True

    def _start(self) -> None:
        """Begin as many visits as there is room for and the input has."""
        while self._under_way + len(self._landed) < self.config.connections:
            delivery = self.visits.take()
            if delivery is None:
                return
            visit = delivery.item
            land = partial(self._land, delivery)
            fresh = visit.attempt > 1
            self.transport.begin(visit.request, visit.address, land, fresh=fresh, traffic=self.gate)
            self._under_way += 1

    def _land(self, delivery: Delivery[Visit], exchange: Exchange) -> None:
        self._under_way -= 1
        self.gate.landed(exchange.address)
        self._landed.append((delivery, exchange))
        self.activity.set()
