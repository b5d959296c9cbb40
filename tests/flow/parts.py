"""Small components that the tests of the framework wire together."""

import asyncio
from collections.abc import Iterable
from itertools import pairwise
from typing import Protocol

from whimbrel.flow import (
    Async,
    ComponentSpec,
    Config,
    ConnectorSpec,
    In,
    Job,
    Needs,
    Out,
    Provider,
    ProviderSpec,
    Report,
    Sync,
    Wiring,
    check,
)
from whimbrel.flow.job import Timeouts
from whimbrel.flow.wiring import Kind


class Number:
    __slots__ = ("value",)

    def __init__(self, value: int) -> None:
        self.value = value


class Word:
    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text


class Shelf(Protocol):
    def put(self, value: int) -> None: ...


class List(Provider):
    """A provider that keeps what it is given."""

    def __init__(self, config: object = None) -> None:
        super().__init__(config)
        self.values: list[int] = []
        self.opened = 0
        self.closed = 0

    async def open(self) -> None:
        self.opened += 1

    async def close(self) -> None:
        self.closed += 1

    def put(self, value: int) -> None:
        self.values.append(value)


class CountConfig(Config, frozen=True):
    count: int | None = 10
    """None is for ever."""


class Numbers(Async):
    """A source of 0, 1, 2, …"""

    Config = CountConfig
    numbers = Out(Number)

    def __init__(self, config: CountConfig) -> None:
        super().__init__(config)
        self.made = 0

    async def run(self) -> None:
        while not self.draining and (self.config.count is None or self.made < self.config.count):
            await self.numbers.put(Number(self.made))
            self.made += 1
            if self.made % 100 == 0:
                await asyncio.sleep(0)


class Pass(Sync):
    numbers = In(Number)
    passed = Out(Number)

    def process(self, number: Number) -> list[Number]:
        return [number]


class Negate(Sync):
    numbers = In(Number)
    passed = Out(Number)

    def process(self, number: Number) -> list[Number]:
        return [Number(-number.value)]


class FailConfig(Config, frozen=True):
    at: int = 5


class FailAt(Sync):
    """Raises at one number, after it has produced something for it."""

    Config = FailConfig
    numbers = In(Number)
    passed = Out(Number)

    def process(self, number: Number) -> Iterable[Number]:
        yield number
        if number.value == self.config.at:
            raise ValueError(f"cannot stand {number.value}")


class Put(Sync):
    """Puts what it gets on a shelf."""

    numbers = In(Number)
    shelf = Needs(Shelf)

    def process(self, number: Number) -> None:
        self.shelf.put(number.value)


class GateConfig(Config, frozen=True):
    start_open: bool = False


class Gated(Async):
    """Takes one number at a time, works on it only while `open_gate` is set, then passes it on."""

    Config = GateConfig
    numbers = In(Number)
    passed = Out(Number)

    def __init__(self, config: GateConfig) -> None:
        super().__init__(config)
        self.gate = asyncio.Event()
        self.busy = asyncio.Event()
        if config.start_open:
            self.gate.set()

    async def run(self) -> None:
        while (delivery := await self.numbers.get()) is not None:
            self.busy.set()
            await self.gate.wait()
            await self.passed.put(delivery.item)
            delivery.done()


def chain(*uses: type, kind: Kind = "queue", capacity: int = 64, batch: int = 16, count: int | None = 10) -> Wiring:
    """source -> step0 -> step1 … -> sink, the sink putting on the shelf `shelf`."""
    components = [ComponentSpec("source", Numbers, {"count": count})]
    components += [ComponentSpec(f"step{at}", use) for at, use in enumerate(uses)]
    components.append(ComponentSpec("sink", Put, needs={"shelf": "shelf"}))
    connectors = []
    for before, after in pairwise(components):
        port = "numbers" if before.name == "source" else "passed"
        connectors.append(ConnectorSpec(f"{before.name}.{port}", f"{after.name}.numbers", kind, capacity, batch))
    return Wiring("chain", tuple(components), tuple(connectors), (ProviderSpec("shelf", List),))


FAST = Timeouts(open_s=5, drain_s=5, close_s=0.2, change_s=5)


def job_of(wiring: Wiring, shelf: List | None = None, timeouts: Timeouts = FAST) -> tuple[Job, List]:
    shelf = shelf or List()
    return Job(check(wiring), providers={"shelf": shelf}, timeouts=timeouts), shelf


def run(wiring: Wiring) -> tuple[Report, list[int]]:
    """Run a wiring to its end; returns the report and what was put on the shelf."""
    job, shelf = job_of(wiring)
    report = asyncio.run(job.run())
    return report, shelf.values
