"""What a user of the framework writes: synchronous and asynchronous components, and providers."""

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from inspect import iscoroutinefunction
from typing import Any, ClassVar

import msgspec

from whimbrel.flow.metric import Metric
from whimbrel.flow.port import Activity, In, Needs, Out


def declared(cls: type, kind: type[Any]) -> dict[str, Any]:
    """The declarations of a kind, those of base classes first, each in the order it was written."""
    found: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        found.update({name: value for name, value in vars(base).items() if isinstance(value, kind)})
    return found


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Base of configurations: frozen, typed, and strict about keys. The base itself takes none."""


class Part:
    """What components and providers share: a configuration, declared needs, and a lifecycle."""

    Config: ClassVar[type[Config]] = Config
    needs: ClassVar[dict[str, Needs[Any]]] = {}
    live: ClassVar[frozenset[str]] = frozenset()
    """Settings that it takes over while it runs (`reconfigure`). When any other changes, it is replaced."""
    metrics: ClassVar[tuple[Metric, ...]] = ()
    """What can be measured about it."""
    fixed: ClassVar[str] = ""
    """Why it cannot be replaced while the job runs; empty when it can."""
    lasting: ClassVar[frozenset[str]] = frozenset()
    """Settings that what it keeps on disk depends on: they stay as they were when the work began."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.needs = declared(cls, Needs)

    def __init__(self, config: Any = None) -> None:
        """Stores; work begins in `open`."""
        self.config: Any = self.Config() if config is None else config

    async def open(self) -> None:
        """Acquire what the work needs. Providers that it needs are open by now."""

    async def close(self) -> None:
        """Release what `open` acquired. Called once, also after a failure, and only if `open` returned."""

    def reconfigure(self, config: Any) -> None:
        """Take over another configuration that differs in `live` settings alone. Called between two steps."""
        self.config = config

    def bind(self, name: str, value: Any) -> None:
        """For the job: put a port or a provider in its place."""
        vars(self)[name] = value


class Provider(Part):
    """A service that components and other providers use through a Protocol."""


class Component(Part):
    """Base of both kinds; write a `Sync` or an `Async`."""

    ins: ClassVar[dict[str, In[Any]]] = {}
    outs: ClassVar[dict[str, Out[Any]]] = {}

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.ins = declared(cls, In)
        cls.outs = declared(cls, Out)


class Sync(Component):
    """A function with ports.

    `process` gets one item of each input, in the order they are declared, and returns what it produces. Where there are
    several outputs the class of an item decides which it goes to, so their types must differ. What one call returns is
    taken whole or, if the call or anything fused to it raises, not at all.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        types = [out.type for out in cls.outs.values()]
        if iscoroutinefunction(cls.process):
            raise TypeError(f"{cls.__name__}.process must be a plain function; an Async component may wait")
        if len(set(types)) < len(types):
            raise TypeError(f"{cls.__name__} has two outputs of one type; give each its own message class")

    def process(self, *items: Any) -> Iterable[Any] | None:
        """One step. None is the same as nothing produced."""
        raise NotImplementedError(f"{type(self).__name__} must define process")

    def drain(self) -> Iterable[Any] | None:
        """The last items, when the inputs have ended."""
        return None


class Async(Component):
    """A component that runs itself.

    `run` reads inlets and writes outlets as it likes and returns when its inputs have ended. A source, which has none,
    returns soon after `draining` has become true. What it took and has not called `done` on stays in the connector.
    """

    def __init__(self, config: Any = None) -> None:
        super().__init__(config)
        self.draining = False
        self.activity = Activity()

    async def run(self) -> None:
        raise NotImplementedError(f"{type(self).__name__} must define run")

    async def woken(self, timeout_s: float | None = None) -> None:
        """Wait until an input has an item or has ended, an output has room, draining begins, or the time is up."""
        if timeout_s is None:
            await self.activity.wait()
            return
        # Not `wait_for`: up to Python 3.11 it forgets a cancellation that comes together with what it waits for.
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await self.activity.wait()
