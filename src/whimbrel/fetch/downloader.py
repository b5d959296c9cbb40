"""Keeps many visits under way at once."""

from functools import partial
from typing import Final

from whimbrel.fetch.api import Exchange, Fetched, Traffic, Transport
from whimbrel.flow import Concurrent, Config, Delivery, In, Inlet, Needs, Out, Outlet
from whimbrel.visit import Visit

_HTTP1_ATTEMPT: Final = 2
"""The try that is made over HTTP/1.1: servers that offer HTTP/2 and cannot speak it, or forbid it for a page, get the
page through with that one."""


class DownloaderConfig(Config, frozen=True):
    connections: int = 32
    """Visits under way at once. The transport must allow as many, and some for the qualifier of hosts."""


class Downloader(Concurrent[Visit, Fetched]):
    """One task for all visits. What the gate has let out must be on the way at once, or two visits come closer together
    than they should."""

    Config = DownloaderConfig
    live = frozenset({"connections"})
    visits = In(Visit)
    fetched = Out(Fetched)
    transport = Needs(Transport)
    gate = Needs(Traffic)

    @property
    def source(self) -> Inlet[Visit]:
        return self.visits

    @property
    def target(self) -> Outlet[Fetched]:
        return self.fetched

    @property
    def room(self) -> int:
        connections: int = self.config.connections
        return connections

    def begin(self, delivery: Delivery[Visit]) -> None:
        visit = delivery.item
        land = partial(self._land, delivery)
        fresh, http1 = visit.attempt > 1, visit.attempt == _HTTP1_ATTEMPT
        self.transport.begin(visit.request, visit.address, land, fresh=fresh, http1=http1, traffic=self.gate)

    def _land(self, delivery: Delivery[Visit], exchange: Exchange) -> None:
        self.gate.landed(exchange.address)
        self.finish(delivery, Fetched(delivery.item, exchange))
