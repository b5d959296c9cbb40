"""A slow consumer holds its producer back: memory stays flat however much a source could make."""

import asyncio
import gc

import psutil

from tests.flow.parts import Number, Numbers, Pass, chain, job_of
from whimbrel.flow import Async, ComponentSpec, In, Out


class Slow(Async):
    """Gives the event loop, and with it the source, a turn after every item."""

    numbers = In(Number)
    passed = Out(Number)

    async def run(self) -> None:
        async for number in self.numbers:
            await self.passed.put(number)
            await asyncio.sleep(0)


class Fat(Number):
    """Heavy enough that a leak of one in a hundred would show."""

    __slots__ = ("load",)

    def __init__(self, value: int) -> None:
        super().__init__(value)
        self.load = bytes(1_000)


class FatNumbers(Numbers):
    async def run(self) -> None:
        while not self.draining:
            await self.numbers.put(Fat(self.made))
            self.made += 1


def test_memory_stays_flat_over_a_million_items_from_an_endless_source() -> None:
    """A million items of 1 KB through a graph that can hold 200 of them: a gigabyte if nothing held the source back."""

    async def scene() -> None:
        wiring = chain(Pass, Pass, Pass, count=None, capacity=64, batch=16).adding(ComponentSpec("source", FatNumbers))
        job, shelf = job_of(wiring)
        running = asyncio.create_task(job.run())
        memory, samples = psutil.Process(), []
        for goal in range(100_000, 1_000_001, 100_000):
            while job.graph.instances["sink"][0].processed < goal:
                await asyncio.sleep(0)
            shelf.values.clear()
            gc.collect()
            samples.append(memory.memory_info().rss)
        job.stop()
        report = await running
        assert report.exit_code == 0
        assert max(samples) - samples[0] < 8 * 1024 * 1024, samples

    asyncio.run(scene())


def test_a_source_is_never_further_ahead_than_the_graph_can_hold() -> None:
    async def scene() -> None:
        wiring = chain(Slow, count=2_000, capacity=16, batch=8)
        job, shelf = job_of(wiring)
        running = asyncio.create_task(job.run())
        source = job.graph.instances["source"][0].component
        assert isinstance(source, Numbers)
        ahead = 0
        while not running.done():
            ahead = max(ahead, source.made - len(shelf.values))
            await asyncio.sleep(0)
        assert (await running).exit_code == 0
        assert 8 <= ahead <= 2 * 16 + 1

    asyncio.run(scene())
