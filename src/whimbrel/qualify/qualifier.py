"""The component that qualifies hosts, many at once."""

import asyncio

from whimbrel.clock import Clock
from whimbrel.fetch.api import Resolver, Transport
from whimbrel.flow import Async, Delivery, In, Needs
from whimbrel.qualify.api import GateShut, HostBlocked, HostDue, NotAsked, QualificationSink, RequestGate
from whimbrel.qualify.procedure import Procedure
from whimbrel.qualify.robots_policy import QualifyConfig
from whimbrel.url import Domains


class QualifierConfig(QualifyConfig, frozen=True):
    parallel: int = 512
    """Hosts that are qualified at once. Each has at most one request under way."""


class Qualifier(Async):
    """Takes hosts that are due and tells `hosts` what they have become. Most of the time it waits: for the gate, for
    slow servers, for the second round."""

    Config = QualifierConfig
    due = In(HostDue)
    hosts = Needs(QualificationSink)
    gate = Needs(RequestGate)
    resolver = Needs(Resolver)
    transport = Needs(Transport)
    clock = Needs(Clock)

    def __init__(self, config: QualifierConfig) -> None:
        super().__init__(config)
        self._domains = Domains()
        self._room = asyncio.Semaphore(config.parallel)

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            while True:
                await self._room.acquire()
                delivery = await self.due.get()
                if delivery is None:
                    break
                tasks.create_task(self._qualify(delivery)).add_done_callback(lambda _: self._room.release())

    async def _qualify(self, delivery: Delivery[HostDue]) -> None:
        due = delivery.item
        # Made anew each time: a provider may have been exchanged since.
        procedure = Procedure(
            self.config,
            resolver=self.resolver,
            transport=self.transport,
            gate=self.gate,
            clock=self.clock,
            domains=self._domains,
        )
        if due.addresses_only and due.before is not None:
            self.hosts.refreshed(due.host, await procedure.refresh(due.host, due.before))
        else:
            await self._qualify_whole(due, procedure)
        delivery.done()

    async def _qualify_whole(self, due: HostDue, procedure: Procedure) -> None:
        try:
            found = await procedure.qualify(due.host, due.before, without_robots=due.without_robots)
        except (GateShut, HostBlocked):  # The host stays queued, and its turn comes again.
            self.hosts.unqualified(due.host)
        except NotAsked as ours:
            self.hosts.unqualified(due.host, ours.shortage)
        else:
            self.hosts.qualified(due.host, found)
