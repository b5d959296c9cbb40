"""A component with several items under way."""

import asyncio

from tests.flow.parts import List, Number, Numbers, Pass, Shelf, job_of
from whimbrel.flow import Async, ComponentSpec, Concurrent, ConnectorSpec, In, Needs, Out, ProviderSpec, Wiring
from whimbrel.flow.port import Delivery, Inlet, Outlet


class AtOnce(Concurrent[Number, Number]):
    numbers = In(Number)
    passed = Out(Number)

    @property
    def source(self) -> Inlet[Number]:
        return self.numbers

    @property
    def target(self) -> Outlet[Number]:
        return self.passed

    @property
    def room(self) -> int:
        return 8

    def begin(self, delivery: Delivery[Number]) -> None:
        self.finish(delivery, delivery.item)


class Waits(Async):
    """Takes nothing for a while, so that all before it is full, then everything."""

    numbers = In(Number)
    shelf = Needs(Shelf)

    async def run(self) -> None:
        for _ in range(50):
            await asyncio.sleep(0)
        async for number in self.numbers:
            self.shelf.put(number.value)
            await asyncio.sleep(0)


class UntilTheLastArrives(Numbers):
    """Does not end before all that it made is there, as a frontier does not."""

    shelf = Needs(Shelf)

    async def run(self) -> None:
        for value in range(self.config.count):
            await self.numbers.put(Number(value))
        while len(self.shelf.values) < self.config.count:  # type: ignore[attr-defined]
            await asyncio.sleep(0)


def test_what_waits_for_room_below_goes_on_though_nothing_more_comes() -> None:
    needs = {"shelf": "shelf"}
    wiring = Wiring(
        "room",
        (
            ComponentSpec("source", UntilTheLastArrives, {"count": 3}, needs),
            ComponentSpec("at-once", AtOnce),
            ComponentSpec("pass", Pass),
            ComponentSpec("sink", Waits, needs=needs),
        ),
        (
            ConnectorSpec("source.numbers", "at-once.numbers", "queue", 8, 1),
            ConnectorSpec("at-once.passed", "pass.numbers", "direct"),
            ConnectorSpec("pass.passed", "sink.numbers", "queue", 1, 1),
        ),
        (ProviderSpec("shelf", List),),
    )
    job, shelf = job_of(wiring)
    report = asyncio.run(asyncio.wait_for(job.run(), 10))
    assert (report.exit_code, shelf.values) == (0, [0, 1, 2])
