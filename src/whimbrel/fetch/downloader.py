"""Keeps many visits under way at once."""

from collections import deque
from functools import partial

from whimbrel.fetch.api import Exchange, Fetched, Transport
from whimbrel.flow import Async, Config, Delivery, In, Needs, Out
from whimbrel.visit import Visit


class DownloaderConfig(Config, frozen=True):
    connections: int = 32
    """Visits under way at once. The transport must allow as many, and some for the qualifier of hosts."""


class Downloader(Async):
    """One task for all visits: it starts what there is room for and hands on what has landed. While the output is
    full nothing is started, so what has landed is never more than `connections`."""

    Config = DownloaderConfig
    visits = In(Visit)
    fetched = Out(Fetched)
    transport = Needs(Transport)

    def __init__(self, config: DownloaderConfig | None = None) -> None:
        super().__init__(config)
        self._landed: deque[tuple[Delivery[Visit], Exchange]] = deque()
        self._under_way = 0

    async def run(self) -> None:
        while True:
            self._start()
            while self._landed:
                delivery, exchange = self._landed.popleft()
                await self.fetched.put(Fetched(delivery.item, exchange))
                delivery.done()
                # Each place is filled as soon as it is free, and not when all that have landed are handed on.
                self._start()
            if self._under_way == 0 and self.visits.ended:
                return
            if not self._landed:
                await self.woken()

    def _start(self) -> None:
        """Begin as many visits as there is room for and the input has."""
        while self._under_way + len(self._landed) < self.config.connections:
            delivery = self.visits.take()
            if delivery is None:
                return
            visit = delivery.item
            self.transport.begin(visit.url, visit.address, partial(self._land, delivery), fresh=visit.attempt > 1)
            self._under_way += 1

    def _land(self, delivery: Delivery[Visit], exchange: Exchange) -> None:
        self._under_way -= 1
        self._landed.append((delivery, exchange))
        self.activity.set()
