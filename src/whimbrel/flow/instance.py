"""One running copy of a component: its ports, its task, and how it takes, works off and acknowledges."""

import asyncio
from typing import Any

from whimbrel.flow.api import Batch, Supply
from whimbrel.flow.chain import CallsBelow, Chain, Member
from whimbrel.flow.component import Async, Component, Sync
from whimbrel.flow.error import ComponentFailed, ConnectorBroken
from whimbrel.flow.port import Activity, Inlet, Outlet
from whimbrel.flow.wiring import ComponentSpec

_FLUSH_AT = 256
"""Products that a chain collects before it hands them over, at the latest at the end of a batch."""


class Instance:
    """A *head* has a task of its own; an instance that others call directly has none and is a member of their chain."""

    def __init__(self, spec: ComponentSpec, number: int, component: Component, activity: Activity) -> None:
        self.spec = spec
        self.name = spec.name if spec.instances == 1 else f"{spec.name}[{number}]"
        self.number = number
        self.component = component
        self.activity = activity
        self.inlets: dict[str, Inlet[Any]] = {port: Inlet(port, activity) for port in component.ins}
        self.outlets: dict[str, Outlet[Any]] = {port: Outlet(port, activity) for port in component.outs}
        for name, port in (*self.inlets.items(), *self.outlets.items()):
            component.bind(name, port)
        self.member = Member(spec.name, component, self.outlets)
        self.is_head = True
        self.processed = 0
        self.finished = False
        self._chain = Chain()
        self._resting: asyncio.Event | None = None
        self._working = False

    def compile(self) -> None:
        """Fuse what hangs on this head. Only while nothing is in hand."""
        self._chain = Chain()
        if isinstance(self.component, Sync):
            self._step = self._chain.step(self.member)
            self._drain = self._chain.drain_step(self.member)
            return
        for port, outlet in self.outlets.items():
            members = self.member.direct[port]
            outlet.calls = CallsBelow(self._chain, members) if members else None

    async def run(self) -> None:
        """Until the inputs have ended. Raises ComponentFailed for what a component raised, ConnectorBroken when the
        consumer has gone, and leaves unacknowledged what was not worked off."""
        try:
            if isinstance(self.component, Async):
                await self._run_async(self.component)
            else:
                await self._run_sync()
        finally:
            self.finished = True
            for inlet in self.inlets.values():
                inlet.give_back()
            self.end_outputs()
            # Whoever waits for it to rest need not wait any longer.
            self.activity.set()
            if self._resting is not None:
                self._resting.set()

    async def rest(self) -> None:
        """Take nothing more, and return when nothing is in hand."""
        if self.finished:
            return
        if isinstance(self.component, Async):
            for inlet in self.inlets.values():
                inlet.paused = True
            while any(inlet.holding for inlet in self.inlets.values()) and not self.finished:
                await self.activity.wait()
            for outlet in self.outlets.values():
                outlet.held = True
            while not all(outlet.idle for outlet in self.outlets.values()) and not self.finished:
                await self.activity.wait()
            return
        self._resting = asyncio.Event()
        self.activity.set()
        await self._resting.wait()

    def go_on(self) -> None:
        """End of rest."""
        self._resting = None
        for inlet in self.inlets.values():
            inlet.paused = False
            inlet.expects_more = False
        for outlet in self.outlets.values():
            outlet.held = False
        self.activity.set()

    def drain(self) -> None:
        """Ask a source to end."""
        if isinstance(self.component, Async):
            self.component.draining = True
            self.activity.set()

    def end_outputs(self) -> None:
        """Tell everyone below that nothing more comes from here, nor from what is called directly from here."""
        for member in self._members():
            for outlet in member.outlets.values():
                for connector in outlet.connectors:
                    connector.end()

    async def _run_async(self, component: Async) -> None:
        try:
            await component.run()
        except Exception as error:  # noqa: BLE001 - whatever it raises is told to the job
            cause = root_cause(error)
            if isinstance(cause, ComponentFailed | ConnectorBroken):
                raise cause  # noqa: B904 - it has a cause of its own, which must stay
            raise ComponentFailed(self.spec.name, "run", cause) from cause
        if self._chain.failure is not None:
            raise self._chain.failure
        await self.drain_called(*(member for members in self.member.direct.values() for member in members))

    async def drain_called(self, *members: Member) -> None:
        """Hand over the last items of members that this head calls directly, and of all below them."""
        for member in members:
            self._chain.run(self._chain.drain_step(member))
        await self._chain.flush()

    @property
    def in_hand(self) -> int:
        """Products of an asynchronous component's chain that no connector has taken."""
        return self._chain.pending if isinstance(self.component, Async) else 0

    @property
    def has_the_move(self) -> bool:
        """Whether others wait for it, rather than it for others."""
        if any(outlet.waiting for member in self._members() for outlet in member.outlets.values()):
            return False
        holding = self._working or any(inlet.holding for inlet in self.inlets.values())
        return holding or all(inlet.ended for inlet in self.inlets.values())

    def _members(self) -> list[Member]:
        """Itself and everything that is called directly from it."""
        members = [self.member]
        for member in members:
            for called in member.direct.values():
                members += called
        return members

    async def _run_sync(self) -> None:
        while True:
            if self._resting is not None:
                self._resting.set()
                await self.activity.wait()
                continue
            taken = self._take()
            if taken is not None:
                await self._work(taken)
            elif any(inlet.ended for inlet in self.inlets.values()):
                break
            else:
                await self.activity.wait()
        self._chain.run(self._drain)
        await self._chain.flush()

    def _take(self) -> list[tuple[Supply[Any], Batch[Any]]] | None:
        """A batch from every input, or nothing."""
        if not all(inlet.ready for inlet in self.inlets.values()):
            return None
        taken: list[tuple[Supply[Any], Batch[Any]]] = []
        for inlet in self.inlets.values():
            found = inlet.take_batch(inlet.batch)
            if found is None:
                for connector, batch in taken:
                    connector.acknowledge(batch, 0)
                return None
            taken.append(found)
        return taken

    async def _work(self, taken: list[tuple[Supply[Any], Batch[Any]]]) -> None:
        """Work off as many items as all inputs have, and acknowledge what was handed over."""
        columns = [batch.items for _, batch in taken]
        count = min(map(len, columns))
        done, at, failure = 0, 0, None
        self._working = True
        try:
            while at < count and failure is None:
                if self.spec.place == "thread":
                    at, failure = await asyncio.to_thread(self._steps, columns, at, count)
                else:
                    at, failure = self._steps(columns, at, count)
                await self._chain.flush()
                done = at
        finally:
            self._working = False
            self.processed += done
            for connector, batch in taken:
                connector.acknowledge(batch, done)
        if failure is not None:
            raise failure

    def _steps(self, columns: list[list[Any]], at: int, count: int) -> tuple[int, ComponentFailed | None]:
        """Run items from `at` on until enough is pending; returns how far it came and what stopped it."""
        chain, step = self._chain, self._step
        single = columns[0] if len(columns) == 1 else None
        while at < count:
            try:
                if single is not None:
                    chain.run(step, single[at])
                else:
                    chain.run(step, *(column[at] for column in columns))
            except ComponentFailed as failure:
                return at, failure
            at += 1
            if chain.most_pending >= _FLUSH_AT:
                break
        return at, None


def root_cause(error: BaseException) -> BaseException:
    """What is really wrong inside an exception group. A broken connector only follows from somebody else's failure."""
    leaves: list[BaseException] = [error]
    while any(isinstance(leaf, BaseExceptionGroup) for leaf in leaves):
        leaves = [
            inner for leaf in leaves for inner in (leaf.exceptions if isinstance(leaf, BaseExceptionGroup) else (leaf,))
        ]
    failed = [leaf for leaf in leaves if isinstance(leaf, ComponentFailed)]
    own = [leaf for leaf in leaves if not isinstance(leaf, ConnectorBroken)]
    return (failed or own or leaves)[0]
