"""Ports: what a component declares (`In`, `Out`, `Needs`) and what it is bound to when it runs (`Inlet`, `Outlet`)."""

import asyncio
from collections.abc import AsyncIterator
from typing import Generic, Protocol, TypeVar, overload

from whimbrel.flow.api import Batch, Intake, Supply

T = TypeVar("T")
T_contra = TypeVar("T_contra", contravariant=True)


_YIELD_EVERY = 64


class Activity:
    """The alarm clock of one instance: connectors set it, whoever waits in the instance wakes and looks again.

    Nothing is lost between a look and the wait, because both happen in one step of the event loop.
    """

    __slots__ = ("_waiters",)

    def __init__(self) -> None:
        self._waiters: list[asyncio.Future[None]] = []

    def set(self) -> None:
        if self._waiters:
            waiters, self._waiters = self._waiters, []
            for waiter in waiters:
                if not waiter.done():
                    waiter.set_result(None)

    async def wait(self) -> None:
        """Return at the next `set`."""
        waiter = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        try:
            await waiter
        except asyncio.CancelledError:
            if waiter in self._waiters:
                self._waiters.remove(waiter)
            raise


class PortDeclaration:
    """What all declarations share: a name. What it is bound to stands under that name in the instance itself, where
    Python looks first: a use costs no call. Only where nothing is bound yet does Python come here."""

    name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def unbound(self, component: object) -> AttributeError:
        return AttributeError(f"{type(component).__name__}.{self.name} is not bound: it works inside a job")


class In(PortDeclaration, Generic[T]):
    """An input for items of a type."""

    def __init__(self, type_: type[T]) -> None:
        self.type = type_

    @overload
    def __get__(self, component: None, owner: type) -> "In[T]": ...
    @overload
    def __get__(self, component: object, owner: type) -> "Inlet[T]": ...
    def __get__(self, component: object | None, owner: type) -> "In[T] | Inlet[T]":
        if component is None:
            return self
        raise self.unbound(component)


class Out(PortDeclaration, Generic[T]):
    """An output for items of a type. Items of an optional output that is not connected are dropped."""

    def __init__(self, type_: type[T], *, optional: bool = False) -> None:
        self.type = type_
        self.optional = optional

    @overload
    def __get__(self, component: None, owner: type) -> "Out[T]": ...
    @overload
    def __get__(self, component: object, owner: type) -> "Outlet[T]": ...
    def __get__(self, component: object | None, owner: type) -> "Out[T] | Outlet[T]":
        if component is None:
            return self
        raise self.unbound(component)


class Needs(PortDeclaration, Generic[T]):
    """A provider behind a Protocol. Read it each time it is used: a running job may bind another."""

    def __init__(self, protocol: type[T]) -> None:
        self.protocol = protocol

    @overload
    def __get__(self, component: None, owner: type) -> "Needs[T]": ...
    @overload
    def __get__(self, component: object, owner: type) -> T: ...
    def __get__(self, component: object | None, owner: type) -> "Needs[T] | T":
        if component is None:
            return self
        raise self.unbound(component)


class Delivery(Generic[T]):
    """One item in the hands of an asynchronous component. `done` says that everything that came of it was taken."""

    __slots__ = ("_batch", "_connector", "_inlet", "item")

    def __init__(self, inlet: "Inlet[T]", connector: Supply[T], batch: Batch[T]) -> None:
        self.item = batch.items[0]
        self._batch = batch
        self._connector = connector
        self._inlet = inlet
        inlet.holding.add(self)

    @property
    def number(self) -> int:
        return self._batch.number

    def done(self) -> None:
        """May be called once or more; only the first counts."""
        self._settle(1)

    def give_back(self) -> None:
        """Return the item to the front of its connector."""
        self._settle(0)

    def _settle(self, count: int) -> None:
        if self in self._inlet.holding:
            self._inlet.holding.discard(self)
            self._connector.acknowledge(self._batch, count)
            self._inlet.activity.set()


class Inlet(Generic[T]):
    """An input port of a running instance: every connector that leads to it, served in turn."""

    def __init__(self, name: str, activity: Activity) -> None:
        self.name = name
        self.connectors: list[Supply[T]] = []
        self.expects_more = False
        """Set while the job is being changed: the end of today's connectors is then not the end."""
        self.paused = False
        self.activity = activity
        self.batch = 1
        """The most that a synchronous component takes at once."""
        self.holding: set[Delivery[T]] = set()
        """Deliveries that were taken and are not done."""
        self._turn = 0

    @property
    def ended(self) -> bool:
        """Nothing will come any more."""
        return not self.expects_more and all(connector.ended for connector in self.connectors)

    @property
    def ready(self) -> bool:
        """Some connector has an item."""
        return any(connector.ready for connector in self.connectors)

    def take_batch(self, most: int) -> tuple[Supply[T], Batch[T]] | None:
        """The next batch from whichever connector has one, in turn; None when none has."""
        count = len(self.connectors)
        for step in range(count):
            connector = self.connectors[(self._turn + step) % count]
            batch = connector.take(most)
            if batch is not None:
                self._turn = (self._turn + step + 1) % count
                return connector, batch
        return None

    def take(self) -> Delivery[T] | None:
        """One item, or None when there is none now."""
        found = None if self.paused else self.take_batch(1)
        if found is None:
            return None
        connector, batch = found
        return Delivery(self, connector, batch)

    async def get(self) -> Delivery[T] | None:
        """One item; None when the input has ended."""
        while True:
            delivery = self.take()
            if delivery is not None:
                return delivery
            if self.ended:
                return None
            await self.activity.wait()

    async def __aiter__(self) -> AsyncIterator[T]:
        """Items one after the other, each done with when the next is asked for."""
        while (delivery := await self.get()) is not None:
            yield delivery.item
            delivery.done()

    def give_back(self) -> None:
        """Return what is held to the connectors, the latest first so that order is kept."""
        for delivery in sorted(self.holding, key=lambda held: held.number, reverse=True):
            delivery.give_back()


class Calls(Protocol[T_contra]):
    """The direct sinks of an output: everything that is fused below it."""

    def run(self, item: T_contra) -> None:
        """Work an item off. What comes of it is kept until it is handed over; if anything raises, nothing is."""

    def push(self) -> bool:
        """Hand over what is kept as far as there is room now; true when nothing is left."""

    async def flush(self) -> None:
        """Hand over what is kept now; returns when all of it has been taken."""


class Outlet(Generic[T]):
    """An output port of a running instance. Every sink gets every item."""

    def __init__(self, name: str, activity: Activity) -> None:
        self.name = name
        self.connectors: list[Intake[T]] = []
        self.calls: Calls[T] | None = None
        self.held = False
        """While held, nothing leaves: `offer` refuses and `put` waits."""
        self.waiting = 0
        """Deliveries that wait for room."""
        self._putting = 0
        self._puts = 0
        self._activity = activity

    @property
    def idle(self) -> bool:
        """No put is under way and nothing waits to be handed over."""
        return self._putting == 0 and self.push()

    def push(self) -> bool:
        """Hand over what direct sinks produced and had no room for, as far as there is room now; true when nothing is
        left. Whoever offers must do this when woken: if nothing more is offered, nothing else does."""
        return self.calls is None or self.calls.push()

    def offer(self, item: T) -> bool:
        """Give an item if there is room for it now. A direct sink has room when all it produced before was taken."""
        if self.held or any(connector.room == 0 for connector in self.connectors):
            return False
        if self.calls is not None:
            if not self.calls.push():
                return False
            self.calls.run(item)
            self.calls.push()
        for connector in self.connectors:
            connector.offer((item,))
        return True

    async def put(self, item: T) -> None:
        """Give an item; returns when every sink has taken it, which for a direct sink means: worked it off.

        Several puts may be under way at once.
        """
        await self.released()
        self._putting += 1
        try:
            if self.calls is not None:
                self.calls.run(item)
                await self.calls.flush()
                self._puts += 1
                if self._puts % _YIELD_EVERY == 0:
                    # A source whose whole chain is direct would never wait, and nobody else would have a turn.
                    await asyncio.sleep(0)
            for connector in self.connectors:
                await self.deliver(connector, (item,))
        finally:
            self._putting -= 1
            if self.held:
                self._activity.set()

    async def released(self) -> None:
        while self.held:
            await self._activity.wait()

    async def deliver(self, connector: Intake[T], items: "list[T] | tuple[T, ...]") -> None:
        """Give items to one connector; returns when it has taken all."""
        taken = connector.offer(items)
        self.waiting += 1
        try:
            while taken < len(items):
                await self._activity.wait()
                # No more than fits: slicing off the whole rest each time would be quadratic.
                taken += connector.offer(items[taken : taken + max(1, connector.room)])
        finally:
            self.waiting -= 1
