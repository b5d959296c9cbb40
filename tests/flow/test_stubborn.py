"""Components that misbehave, at the worst moment: the job ends in time, says who it was, and loses nothing."""

import asyncio
import time
from collections.abc import Iterable
from contextlib import suppress

import pytest

from tests.flow.parts import FailAt, Gated, List, Negate, Number, Numbers, Pass, Put, chain, job_of
from whimbrel.flow import Async, ChangeFailed, ComponentSpec, ConnectorSpec, In, Job, Out, Sync, Timeouts, Wiring, check

QUICK = Timeouts(open_s=0.3, drain_s=0.3, close_s=0.3, change_s=2)


async def until(shelf: List, count: int) -> None:
    while len(shelf.values) < count:
        await asyncio.sleep(0)


async def sink_ended(job: Job) -> None:
    while not job.graph.instances["sink"][0].finished:
        await asyncio.sleep(0)


class OtherNumbers(Numbers):
    pass


class Swallow(Async):
    """Cannot be cancelled."""

    numbers = Out(Number)

    async def run(self) -> None:
        while True:
            try:
                await asyncio.sleep(30)
            except asyncio.CancelledError:
                if (task := asyncio.current_task()) is not None and task.cancelling() > 1:
                    raise


class CancelledInside(Async):
    numbers = Out(Number)

    async def run(self) -> None:
        task = asyncio.create_task(asyncio.sleep(9))
        task.cancel()
        await task


class Catching(Numbers):
    """Takes no notice of what happens below it."""

    async def run(self) -> None:
        for value in range(10):
            try:
                await self.numbers.put(Number(value))
            except Exception:  # noqa: BLE001
                return


class Early(Async):
    """Has enough after three numbers."""

    numbers = In(Number)
    passed = Out(Number)

    async def run(self) -> None:
        for _ in range(3):
            delivery = await self.numbers.get()
            assert delivery is not None
            await self.passed.put(delivery.item)
            delivery.done()


def failing(wiring: Wiring, timeouts: Timeouts = QUICK) -> tuple[list[tuple[str, str]], int]:
    job, _ = job_of(wiring, timeouts=timeouts)
    report = asyncio.run(asyncio.wait_for(job.run(), 20))
    return [(failure.component, failure.phase) for failure in report.failures], report.exit_code


def test_a_component_that_is_cancelled_from_inside_has_failed() -> None:
    assert failing(chain(Pass).adding(ComponentSpec("source", CancelledInside))) == ([("source", "run")], 1)


def test_a_failure_that_a_caller_swallows_is_reported_all_the_same() -> None:
    wiring = chain(FailAt, kind="direct").adding(ComponentSpec("source", Catching))
    assert failing(wiring) == ([("step0", "process")], 1)


def test_a_consumer_that_wants_no_more_leaves_work_behind() -> None:
    assert failing(chain(Early, count=None, capacity=2, batch=1)) == ([], 3)


def test_a_component_that_swallows_its_cancellation_is_left_behind() -> None:
    async def scene() -> None:
        job, shelf = job_of(chain(Pass).adding(ComponentSpec("source", Swallow)), timeouts=QUICK)
        running = asyncio.create_task(job.run())
        await asyncio.sleep(0)
        job.stop()
        report = await asyncio.wait_for(running, 10)
        assert report.exit_code == 1
        assert ("source", "it swallowed its cancellation; left behind") in [
            (f.component, f.reason) for f in report.failures
        ]
        assert shelf.closed == 1
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()

    asyncio.run(scene())


class Forgetful(Async):
    """Forgets its first cancellation, as `asyncio.wait_for` does at times."""

    numbers = Out(Number)

    async def run(self) -> None:
        for _ in range(2):
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(30)


def test_a_component_that_forgets_a_cancellation_is_told_again() -> None:
    async def scene() -> None:
        timeouts = Timeouts(close_s=20, insist_s=0.2)
        job, shelf = job_of(chain(Pass).adding(ComponentSpec("source", Forgetful)), timeouts=timeouts)
        running = asyncio.create_task(job.run())
        await asyncio.sleep(0.01)
        job.abort("enough")
        report = await asyncio.wait_for(running, 5)
        assert (report.failures, shelf.closed) == ((), 1)

    asyncio.run(scene())


class Waiting(Async):
    numbers = Out(Number)

    async def run(self) -> None:
        while True:
            await self.woken(20)


def test_an_end_that_comes_together_with_news_is_not_missed() -> None:
    async def scene() -> None:
        job, _ = job_of(chain(Pass).adding(ComponentSpec("source", Waiting)), timeouts=Timeouts(insist_s=20))
        running = asyncio.create_task(job.run())
        await asyncio.sleep(0.01)
        source = job.graph.instances["source"][0].component
        assert isinstance(source, Waiting)
        source.activity.set()
        await asyncio.sleep(0)  # What it waited for is there, and it has not been told yet.
        job.abort("enough")
        report = await asyncio.wait_for(running, 5)
        assert report.failures == ()

    asyncio.run(scene())


def test_opening_that_hangs_or_is_aborted_ends_in_time() -> None:
    class Hanging(Pass):
        async def open(self) -> None:
            await asyncio.sleep(30)

    assert failing(chain(Hanging)) == ([("step0", "open")], 1)

    async def scene() -> None:
        job, _ = job_of(chain(Hanging), timeouts=Timeouts(close_s=1))
        running = asyncio.create_task(job.run())
        await asyncio.sleep(0.05)
        job.abort("enough")
        report = await asyncio.wait_for(running, 5)
        assert report.exit_code == 1
        assert "enough" in report.failures[0].reason

    asyncio.run(scene())


def test_a_stop_before_the_start_and_while_opening_ends_the_job() -> None:
    class Slow(Pass):
        async def open(self) -> None:
            await asyncio.sleep(0.2)

    early, _ = job_of(chain(Pass, count=None))
    early.stop()
    assert asyncio.run(early.run()).state == "stopped"

    async def scene() -> None:
        job, _ = job_of(chain(Slow, count=None), timeouts=Timeouts(drain_s=0.1))
        running = asyncio.create_task(job.run())
        await asyncio.sleep(0.02)
        job.stop()
        assert (await asyncio.wait_for(running, 5)).state == "stopped"

    asyncio.run(scene())


def test_a_source_that_never_waits_can_be_stopped() -> None:
    class Endless(Numbers):
        async def run(self) -> None:
            while not self.draining:
                await self.numbers.put(Number(self.made))
                self.made += 1

    async def scene() -> None:
        job, _ = job_of(chain(Pass, kind="direct").adding(ComponentSpec("source", Endless)))
        asyncio.get_running_loop().call_later(0.05, job.stop)
        assert (await asyncio.wait_for(job.run(), 5)).exit_code == 0

    asyncio.run(scene())


def test_whatever_close_does_the_others_are_closed() -> None:
    class CancelsItself(Pass):
        async def close(self) -> None:
            raise asyncio.CancelledError

    class NotAsync(Pass):
        def close(self) -> None:  # type: ignore[override]
            return None

    for use in (CancelsItself, NotAsync):
        job, shelf = job_of(chain(use, count=3))
        report = asyncio.run(job.run())
        assert [(failure.component, failure.phase) for failure in report.failures] == [("step0", "close")]
        assert shelf.closed == 1


def test_one_huge_product_goes_through_a_narrow_queue_in_linear_time() -> None:
    class Many(Sync):
        numbers = In(Number)
        passed = Out(Number)

        def process(self, number: Number) -> Iterable[Number]:
            return [number] * 50_000

    began = time.process_time()
    job, shelf = job_of(chain(Many, count=1, capacity=2, batch=2))
    assert asyncio.run(job.run()).exit_code == 0
    assert len(shelf.values) == 50_000
    assert time.process_time() - began < 4


def test_an_asynchronous_source_that_calls_directly_is_replaced_and_the_job_goes_on() -> None:
    async def scene() -> None:
        wiring = chain(Pass, count=None).adding(ConnectorSpec("source.numbers", "step0.numbers", "direct"))
        job, shelf = job_of(wiring)
        running = asyncio.create_task(job.run())
        await until(shelf, 50)
        await job.apply(wiring.adding(ComponentSpec("source", OtherNumbers, {"count": None})))
        before = len(shelf.values)
        await until(shelf, before + 50)
        job.stop()
        assert (await running).exit_code == 0

    asyncio.run(scene())


def test_what_a_component_holds_back_is_drained_before_it_is_replaced() -> None:
    class Hold(Sync):
        numbers = In(Number)
        passed = Out(Number)

        def __init__(self, config: object = None) -> None:
            super().__init__(config)
            self.held: list[Number] = []

        def process(self, number: Number) -> list[Number]:
            self.held.append(number)
            if len(self.held) < 7:
                return []
            given, self.held = self.held, []
            return given

        def drain(self) -> list[Number]:
            return self.held

    async def scene() -> None:
        wiring = chain(Hold, Pass, count=None, kind="direct").adding(ConnectorSpec("step0.passed", "step1.numbers"))
        job, shelf = job_of(wiring)
        running = asyncio.create_task(job.run())
        for use in (Negate, Pass):
            goal = len(shelf.values) + 40
            await until(shelf, goal)
            await job.apply(wiring.adding(ComponentSpec("step1", use)))
            await until(shelf, len(shelf.values) + 40)
            await job.apply(chain(Pass, count=None))
            await job.apply(wiring)
        job.stop()
        report = await running
        source = job.graph.instances["source"][0].component
        assert isinstance(source, Numbers)
        assert report.exit_code == 0
        assert sorted(map(abs, shelf.values)) == list(range(source.made))

    asyncio.run(scene())


class Loop(Async):
    """Keeps six tokens going round, counting each that comes back."""

    back = In(Number)
    numbers = Out(Number)

    def __init__(self, config: object = None) -> None:
        super().__init__(config)
        self.came_back = 0

    async def run(self) -> None:
        for value in range(6):
            await self.numbers.put(Number(value))
        async for number in self.back:
            self.came_back += 1
            await self.numbers.put(number)


@pytest.mark.parametrize("first", ["loop", "step"])
def test_nothing_is_lost_when_a_component_in_a_circle_is_replaced(first: str) -> None:
    async def scene() -> None:
        circle = Wiring(
            "circle",
            tuple(
                sorted((ComponentSpec("loop", Loop), ComponentSpec("step", Pass)), key=lambda spec: spec.name != first)
            ),
            (ConnectorSpec("loop.numbers", "step.numbers"), ConnectorSpec("step.passed", "loop.back")),
        )
        job = Job(check(circle), timeouts=QUICK)
        running = asyncio.create_task(job.run())
        loop = job.graph.instances["loop"][0].component
        assert isinstance(loop, Loop)
        for use in (Negate, Pass, Negate):
            before = loop.came_back
            while loop.came_back < before + 30:
                await asyncio.sleep(0)
            await job.apply(circle.adding(ComponentSpec("step", use)))
        job.abort("enough")
        report = await asyncio.wait_for(running, 5)
        assert report.state == "stopped"
        assert sum(report.left.values()) == 6

    asyncio.run(scene())


def test_a_caller_that_gives_up_does_not_leave_a_change_half_made() -> None:
    class SlowOpen(Negate):
        async def open(self) -> None:
            await asyncio.sleep(0.2)

    async def scene() -> None:
        job, shelf = job_of(chain(Pass, count=None))
        running = asyncio.create_task(job.run())
        await until(shelf, 20)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(job.apply(chain(Pass, SlowOpen, count=None)), 0.05)
        while not any(value < 0 for value in shelf.values):
            await asyncio.sleep(0)
        job.stop()
        report = await running
        assert (report.exit_code, report.changes) == (0, ("added step1",))

    asyncio.run(scene())


def test_a_component_that_has_ended_is_made_anew_when_it_is_fed_again() -> None:
    async def scene() -> None:
        base = chain(Pass, count=5)
        keeps_on = base.adding(
            ComponentSpec("other", Numbers, {"count": None}),
            ComponentSpec("drop", Put, needs={"shelf": "shelf"}),
            ConnectorSpec("other.numbers", "drop.numbers"),
        )
        job, _ = job_of(keeps_on)
        running = asyncio.create_task(job.run())
        await sink_ended(job)
        more = keeps_on.adding(
            ComponentSpec("third", Numbers, {"count": 1_000}), ConnectorSpec("third.numbers", "step0.numbers")
        )
        await job.apply(more)
        await sink_ended(job)
        job.stop()
        report = await asyncio.wait_for(running, 10)
        assert (report.exit_code, report.left) == (0, {})

    asyncio.run(scene())


@pytest.mark.parametrize("how", ["stop", "abort", "failure"])
def test_a_job_that_ends_during_a_change_ends_soon_and_says_so(how: str) -> None:
    async def scene() -> None:
        wiring = chain(Gated, FailAt, count=None, capacity=8, batch=2).adding(
            ComponentSpec("step0", Gated, {"start_open": True}), ComponentSpec("step1", FailAt, {"at": 1_000_000})
        )
        job, shelf = job_of(wiring, timeouts=Timeouts(drain_s=1, close_s=1, change_s=30))
        running = asyncio.create_task(job.run())
        await until(shelf, 20)
        gated = job.graph.instances["step0"][0].component
        assert isinstance(gated, Gated)
        gated.gate.clear()
        change = asyncio.create_task(job.apply(chain(Pass, Pass, count=None)))
        await asyncio.sleep(0.05)
        if how == "failure":
            job.graph.instances["sink"][0].component.bind("shelf", None)
            gated.gate.set()
        else:
            job.stop() if how == "stop" else job.abort("enough")
        began = time.monotonic()
        report = await asyncio.wait_for(running, 10)
        assert time.monotonic() - began < 5
        with pytest.raises(ChangeFailed):
            await change
        assert report.exit_code == 1
        assert "change" in {failure.phase for failure in report.failures}

    asyncio.run(scene())


def test_a_job_that_closes_cannot_be_changed() -> None:
    async def scene() -> None:
        class SlowClose(Pass):
            async def close(self) -> None:
                await asyncio.sleep(0.1)

        job, shelf = job_of(chain(SlowClose, count=20))
        running = asyncio.create_task(job.run())
        while job.state != "closing":
            await asyncio.sleep(0)
        with pytest.raises(ChangeFailed, match="closing"):
            await job.apply(chain(Pass, count=20))
        assert (await running).exit_code == 0
        assert shelf.values == list(range(20))

    asyncio.run(scene())
