"""The state of a crawl that has come far."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

from whimbrel.clock import SystemClock
from whimbrel.commit.journal import Journal, JournalConfig
from whimbrel.dedupe.rocks import RocksContent
from whimbrel.effect.effects import Effects, EffectsConfig
from whimbrel.effect.seeding import Seeding
from whimbrel.frontier.disk_frontier import DiskFrontier
from whimbrel.frontier.gate import PacedGate
from whimbrel.frontier.option import FrontierConfig, GateConfig
from whimbrel.frontier.permit import LocalPermits
from whimbrel.frontier.seen import DiskSeen, SeenConfig
from whimbrel.qualify.api import HostDue, Qualification
from whimbrel.route.router import Router, RouterConfig
from whimbrel.simweb.page import path
from whimbrel.simweb.web import Web
from whimbrel.state.option import RocksConfig
from whimbrel.state.rocks import RocksState
from whimbrel.url import restore
from whimbrel.visit import Discovered, VisitResult

_PER_COMMIT: Final = 50_000
_FAR_S: Final = 86_400.0 * 7


class Size(msgspec.Struct, frozen=True, kw_only=True):
    hosts: int
    """With a few URLs each."""
    per_host: int
    one_host: int
    """URLs of one host that has very many."""
    taken: int
    """URLs that are taken from the frontier and finished."""
    known: int
    """In all; what is not queued and not taken is known only."""


class BuiltState(msgspec.Struct, frozen=True):
    known: int
    queued: int
    taken: int
    state_bytes: int


def build(directory: Path, web: Web, size: Size, say: Callable[[str], None]) -> BuiltState:
    return asyncio.run(_Builder(directory, web, size, say).run())


class _Builder:
    def __init__(self, directory: Path, web: Web, size: Size, say: Callable[[str], None]) -> None:
        self._directory, self._web, self._size, self._say = directory, web, size, say
        parts: dict[str, Any] = {
            "clock": SystemClock(),
            "state": RocksState(RocksConfig(directory=str(directory))),
            "seen": DiskSeen(SeenConfig()),
            "content": RocksContent(),
            "permits": LocalPermits(),
            "gate": PacedGate(GateConfig(delay_s=0.0)),
            "frontier": DiskFrontier(FrontierConfig(qualifying=100_000, new_hosts=100_000)),
            "router": Router(RouterConfig(seeds=("http://seed.test/",), scope="any")),
            "journal": Journal(JournalConfig(directory=str(directory), every_s=3600.0)),
            "effects": Effects(EffectsConfig()),
            "seeding": Seeding(),
        }
        for part in parts.values():
            for need in part.needs:
                part.bind(need, parts[need])
        self._parts = parts
        self._frontier: DiskFrontier = parts["frontier"]
        self._journal: Journal = parts["journal"]

    async def run(self) -> BuiltState:
        for part in self._parts.values():
            await part.open()
        try:
            await self._add()
            await self._take()
            await self._know()
            await self._journal.checkpoint()
            queued = self._frontier.queued
        finally:
            for part in reversed(self._parts.values()):
                await part.close()
        used = sum(file.stat().st_size for file in (self._directory / "state").iterdir())
        return BuiltState(self._size.known, queued, self._size.taken, used)

    def _urls(self) -> Iterator[str]:
        size, origin = self._size, self._web.hosts.origin
        for number in range(1, size.hosts + 1):
            for page in range(size.per_host):
                yield origin(number) + path(page)
        for page in range(size.one_host):
            yield f"{origin(0)}/x/found/{page}"

    async def _add(self) -> None:
        for at, url in enumerate(self._urls()):
            self._frontier.add(Discovered(restore(url), 1))
            await self._commit(at, "added")

    async def _take(self) -> None:
        at = 0
        while at < self._size.taken:
            visit = self._frontier.take()
            if visit is not None:
                self._frontier.finish(visit, VisitResult(elapsed_s=0.01, status=200, bytes=28_000))
                at += 1
                await self._commit(at, "taken")
            due = self._frontier.take_host()
            if due is not None:
                self._frontier.qualified(due.host, self._qualified(due))
            elif visit is None and self._frontier.due_in_s() is None:
                raise RuntimeError("the frontier has nothing to take")

    def _qualified(self, due: HostDue) -> Qualification:
        host = self._web.hosts.find(due.host.host)
        addresses = ("127.0.0.1",) if host is None else host.addresses
        until_s = self._parts["clock"].wall_s() + _FAR_S
        return Qualification("qualified", until_s, addresses, until_s, robots_at_s=until_s - _FAR_S, robots_status=404)

    async def _know(self) -> None:
        """URLs whose visits are long over."""
        size = self._size
        for at in range(size.known - size.hosts * size.per_host - size.one_host):
            self._frontier.remember(restore(f"http://www.s{at % 1_000_000}.test/gone/{at}.html"))
            await self._commit(at, "known")

    async def _commit(self, at: int, what: str) -> None:
        if at and at % _PER_COMMIT == 0:
            await self._journal.checkpoint()
            if at % 1_000_000 == 0:
                self._say(f"{at:,} {what}")
