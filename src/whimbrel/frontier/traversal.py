"""Takes what the frontier lets out, until there is nothing left to wait for."""

import asyncio
from collections.abc import Callable
from typing import Protocol

from whimbrel.flow import Async, Config, Needs, Out
from whimbrel.frontier.api import Frontier
from whimbrel.qualify.api import HostDue
from whimbrel.visit import Visit


class TraversalConfig(Config, frozen=True):
    patience_s: float = 600.0
    """When nothing is under way and nothing is due within this time, the crawl ends with work left."""


class Committing(Protocol):
    """Whoever makes results durable, and may fall behind."""

    @property
    def behind(self) -> bool: ...

    def listen(self, changed: Callable[[], None]) -> None: ...


class Refusals(Protocol):
    def refuse(self, visit: Visit) -> None:
        """A visit is over without a request: robots.txt forbids it, or its host was given up."""


class Traversal(Async):
    """While the commit is behind nothing is let out: this is the crawl's back-pressure, and how it pauses when the
    disk is full."""

    Config = TraversalConfig
    live = frozenset({"patience_s"})
    visits = Out(Visit)
    hosts = Out(HostDue)
    frontier = Needs(Frontier)
    journal = Needs(Committing)
    effects = Needs(Refusals)

    async def run(self) -> None:
        self.frontier.listen(self.activity.set)
        self.journal.listen(self.activity.set)
        while not self.draining:
            moved = False if self.journal.behind else await self._step()
            if moved:
                continue
            if self._over():
                return
            await self.woken(None if self.journal.behind or self.frontier.paused else self.frontier.due_in_s())
        self.frontier.shut()

    async def _step(self) -> bool:
        """Hand one thing on; false when there is nothing now."""
        visit = self.frontier.take()
        if visit is not None and visit.address:
            await self.visits.put(visit)
        elif visit is not None:
            self.effects.refuse(visit)
            await asyncio.sleep(0)
        due = self.frontier.take_host()
        if due is not None:
            await self.hosts.put(due)
        return visit is not None or due is not None

    def _over(self) -> bool:
        """Nothing is under way, and nothing will be for longer than we wait."""
        frontier = self.frontier
        if self.journal.behind or frontier.paused or frontier.visiting or frontier.qualifying:
            return False
        due_s = frontier.due_in_s()
        return due_s is None or due_s > self.config.patience_s
