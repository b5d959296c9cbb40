"""Takes what the frontier lets out, until the crawl is over."""

import asyncio
from typing import Protocol

from whimbrel.flow import Async, Config, Needs, Out
from whimbrel.frontier.api import CommitStatus, Frontier, Gate, Termination
from whimbrel.qualify.api import HostDue
from whimbrel.visit import Visit


class Refusals(Protocol):
    def refuse(self, visit: Visit) -> None:
        """A visit is over without a request: robots.txt forbids it, or its host was given up."""


class Traversal(Async):
    """While the commit is behind nothing is let out: this is the crawl's back-pressure. While this machine
    lacks something the gate is closed, so that robots.txt is not asked for either.

    The gate admits requests while a traversal runs. When one is drained the gate is shut; the next one, if a change of
    the job replaces it, admits them again.
    """

    visits = Out(Visit)
    hosts = Out(HostDue)
    frontier = Needs(Frontier)
    journal = Needs(CommitStatus)
    gate = Needs(Gate)
    termination = Needs(Termination)
    effects = Needs(Refusals)

    def __init__(self, config: Config | None = None) -> None:
        super().__init__(config)
        self._due: HostDue | None = None
        """A host that the qualifier has had no room for yet."""
        self._watched: Termination | None = None
        self._closed_for = ""
        """The resource for whose lack it has closed the gate."""

    async def run(self) -> None:
        self.gate.admit()
        self.frontier.listen(self.activity.set)
        self.journal.listen(self._journal_changed)
        self._journal_changed()
        try:
            await self._hand_out()
        finally:
            self.frontier.unlisten(self.activity.set)
            self.journal.unlisten(self._journal_changed)
            self._watch(None)
            if self._due is not None:
                self.frontier.unqualified(self._due.host)
                self._due = None
        if self.draining:
            self.gate.shut()

    async def _hand_out(self) -> None:
        while not self.draining:
            if not self.journal.behind and await self._step():
                continue
            self._watch(self.termination)
            if self.termination.is_over():
                return
            await self.woken(None if self.journal.behind or self.gate.closed_for else self.frontier.due_in_s())

    async def _step(self) -> bool:
        """Hand one thing on; false when there is nothing now."""
        visit = self.frontier.take()
        if visit is not None and visit.address:
            await self.visits.put(visit)
        elif visit is not None:
            self.effects.refuse(visit)
            await asyncio.sleep(0)
        return self._hand_on_host() or visit is not None

    def _hand_on_host(self) -> bool:
        """It does not wait for room: the qualifier may be full of hosts that wait for the gate, and a traversal that
        waits for the qualifier would not see that it is drained."""
        if self._due is None:
            self._due = self.frontier.take_host()
        if self._due is None or not self.hosts.offer(self._due):
            return False
        self._due = None
        return True

    def _journal_changed(self) -> None:
        shortage = self.journal.shortage
        reason = "" if shortage is None else shortage.resource
        if reason:
            self.gate.close_for(reason)
        if self._closed_for not in ("", reason):
            self.gate.reopen_for(self._closed_for)
        self._closed_for = reason
        self.activity.set()

    def _watch(self, termination: Termination | None) -> None:
        """Listen to the termination that is bound now; another may have been bound since."""
        if termination is not self._watched:
            if self._watched is not None:
                self._watched.unlisten(self.activity.set)
            if termination is not None:
                termination.listen(self.activity.set)
            self._watched = termination
