"""Asynchronous components: many things at once, whichever connector they have."""

import asyncio
import time

import pytest

from tests.flow.parts import FailAt, List, Number, Numbers, Pass, Shelf, chain, job_of
from whimbrel.flow import (
    Async,
    ChangeFailed,
    ComponentFailed,
    ComponentSpec,
    Config,
    ConnectorSpec,
    In,
    Job,
    Needs,
    Out,
    Provider,
    ProviderSpec,
    Sync,
    Wiring,
    check,
)
from whimbrel.flow.port import Activity
from whimbrel.flow.wiring import Kind

KINDS: tuple[Kind, ...] = ("direct", "queue")


class Burst(Async):
    """Gives 50 numbers at once, from as many tasks."""

    numbers = Out(Number)

    async def run(self) -> None:
        async with asyncio.TaskGroup() as puts:
            for value in range(50):
                puts.create_task(self.numbers.put(Number(value)))


class Offering(Async):
    """Never waits in `put`: offers, and waits to be woken where there is no room."""

    numbers = Out(Number)

    async def run(self) -> None:
        for value in range(100):
            while not self.numbers.offer(Number(value)):
                await self.woken()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("use", "count"), [(Burst, 50), (Offering, 100)])
def test_many_puts_at_once_and_offers_lose_and_repeat_nothing(kind: Kind, use: type, count: int) -> None:
    wiring = chain(Pass, Pass, kind=kind, capacity=4, batch=2).adding(ComponentSpec("source", use))
    queue = ConnectorSpec("step0.passed", "step1.numbers", "queue", 4, 2)
    job, shelf = job_of(wiring.adding(queue))
    report = asyncio.run(job.run())
    assert report.exit_code == 0, report.lines()
    assert sorted(shelf.values) == list(range(count))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("use", [Burst, Offering])
def test_what_fails_below_an_asynchronous_component_is_named_and_takes_back_its_products(kind: Kind, use: type) -> None:
    wiring = chain(FailAt, Pass, kind=kind).adding(
        ComponentSpec("source", use), ConnectorSpec("step0.passed", "step1.numbers", "queue", 4, 2)
    )
    job, shelf = job_of(wiring)
    report = asyncio.run(job.run())
    assert [(failure.component, failure.phase) for failure in report.failures] == [("step0", "process")]
    # A task group cancels the puts that have not returned; what they would have given was not acknowledged.
    assert shelf.values in ([0, 1, 2, 3, 4], [0, 1, 2, 3])


def test_a_task_group_that_meets_a_dead_consumer_is_not_blamed() -> None:
    wiring = chain(FailAt, capacity=4, batch=2).adding(ComponentSpec("source", Burst))
    job, _ = job_of(wiring)
    report = asyncio.run(job.run())
    assert [failure.component for failure in report.failures] == ["step0"]


def test_a_writer_that_only_offers_learns_that_its_consumer_is_dead() -> None:
    class Stubborn(Offering):
        async def run(self) -> None:
            while True:
                if not self.numbers.offer(Number(5)):
                    await self.woken()

    job, _ = job_of(chain(FailAt, capacity=4, batch=2).adding(ComponentSpec("source", Stubborn)))
    began = time.monotonic()
    report = asyncio.run(job.run())
    assert [failure.component for failure in report.failures] == ["step0"]
    assert time.monotonic() - began < 3, "it did not sit out the time limit"


def test_copies_with_two_inputs_sleep_while_one_is_empty() -> None:
    class Idle(Async):
        numbers = Out(Number)

        async def run(self) -> None:
            while not self.draining:
                await self.woken()

    class Sum(Sync):
        left = In(Number)
        right = In(Number)
        passed = Out(Number)

        def process(self, left: Number, right: Number) -> list[Number]:
            return [left, right]

    async def scene() -> None:
        base = chain(Pass)
        wiring = Wiring(
            "sum",
            (
                *(base.component("sink"), ComponentSpec("a", Numbers, {"count": None}), ComponentSpec("b", Idle)),
                ComponentSpec("sum", Sum, instances=3),
            ),
            (
                *(ConnectorSpec("a.numbers", "sum.left"), ConnectorSpec("b.numbers", "sum.right")),
                ConnectorSpec("sum.passed", "sink.numbers"),
            ),
            base.providers,
        )
        job, _ = job_of(wiring)
        running = asyncio.create_task(job.run())
        while job.graph.queues["a.numbers -> sum.left"].room:
            await asyncio.sleep(0)
        began = time.process_time()
        await asyncio.sleep(0.3)
        assert time.process_time() - began < 0.15
        job.stop()
        await running

    asyncio.run(scene())


def test_waiting_in_vain_leaves_nothing_behind() -> None:
    async def scene() -> None:
        activity = Activity()
        for _ in range(100):
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(activity.wait(), 0.0001)
        assert activity._waiters == []

    asyncio.run(scene())


class NamedConfig(Config, frozen=True):
    label: str = "first"


class Named(List):
    Config = NamedConfig


class Front(Provider):
    """A provider in front of another, as a cache is."""

    behind = Needs(Shelf)

    def put(self, value: int) -> None:
        self.behind.put(value)


def test_a_provider_behind_another_is_exchanged_while_the_one_in_front_stays() -> None:
    async def scene() -> None:
        wiring = chain(Pass, count=None).adding(
            ProviderSpec("shelf", Front, needs={"behind": "store"}), ProviderSpec("store", Named)
        )
        job = Job(check(wiring))
        running = asyncio.create_task(job.run())
        front, first = job.graph.providers["shelf"], job.graph.providers["store"]
        assert isinstance(first, Named)
        while len(first.values) < 50:
            await asyncio.sleep(0)
        await job.apply(wiring.configuring("store", label="second"))
        second = job.graph.providers["store"]
        assert isinstance(second, Named)
        assert job.graph.providers["shelf"] is front
        assert (first.closed, second.opened) == (1, 1)
        while len(second.values) < 50:
            await asyncio.sleep(0)
        job.stop()
        report = await running
        source = job.graph.instances["source"][0].component
        assert isinstance(source, Numbers)
        assert report.exit_code == 0
        assert first.values + second.values == list(range(source.made))

    asyncio.run(scene())


class BadStart(Pass):
    def __init__(self, config: object = None) -> None:
        raise ValueError("cannot be made")


class BadOpen(Pass):
    async def open(self) -> None:
        raise ValueError("cannot be opened")


@pytest.mark.parametrize("use", [BadStart, BadOpen])
def test_a_new_component_that_cannot_start_fails_the_change_and_the_job_goes_on(use: type) -> None:
    async def scene() -> None:
        job, shelf = job_of(chain(Pass, count=None))
        running = asyncio.create_task(job.run())
        while len(shelf.values) < 50:
            await asyncio.sleep(0)
        with pytest.raises(ChangeFailed, match=r"nothing was changed: step1 failed in .*: ValueError: cannot be"):
            await job.apply(chain(Pass, use, count=None))
        before = len(shelf.values)
        while len(shelf.values) < before + 50:
            await asyncio.sleep(0)
        job.stop()
        report = await running
        source = job.graph.instances["source"][0].component
        assert isinstance(source, Numbers)
        assert (report.exit_code, report.changes) == (0, ())
        assert shelf.values == list(range(source.made))

    asyncio.run(scene())


def test_a_component_that_cannot_be_made_is_named_before_the_job_starts() -> None:
    with pytest.raises(ComponentFailed, match="step0 failed in construction: ValueError: cannot be made"):
        job_of(chain(BadStart))
