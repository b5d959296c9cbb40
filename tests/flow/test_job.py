"""The life of a job: what is opened is closed, what fails is reported, nothing waits for ever."""

import asyncio
from collections.abc import Iterable

import pytest

from tests.flow.parts import FAST, FailAt, Gated, List, Negate, Number, Numbers, Pass, Word, chain, job_of, run
from whimbrel.flow import (
    Async,
    ComponentSpec,
    ConnectorSpec,
    Delivery,
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
from whimbrel.flow.job import Timeouts


def test_providers_open_before_components_and_close_after_them() -> None:
    story: list[str] = []

    class Base(Provider):
        async def open(self) -> None:
            story.append("open base")

        async def close(self) -> None:
            story.append("close base")

        def put(self, value: int) -> None: ...

    class Front(Base):
        shelf = Needs(Base)

        async def open(self) -> None:
            story.append("open front")

        async def close(self) -> None:
            story.append("close front")

    class Step(Pass):
        async def open(self) -> None:
            story.append("open step")

        async def close(self) -> None:
            story.append("close step")

    wiring = chain(Step).adding(ProviderSpec("shelf", Front, needs={"shelf": "base"}), ProviderSpec("base", Base))
    report = asyncio.run(Job(check(wiring)).run())
    assert report.state == "done"
    assert story == ["open base", "open front", "open step", "close step", "close front", "close base"]


def test_a_component_that_raises_fails_the_job_with_its_name_reason_and_traceback() -> None:
    report, values = run(chain(Pass, FailAt, count=None, capacity=8, batch=8))
    assert report.exit_code == 1
    (failure,) = report.failures
    assert (failure.component, failure.phase) == ("step1", "process")
    assert failure.reason == "ValueError: cannot stand 5"
    assert "in process" in failure.detail
    assert values == [0, 1, 2, 3, 4]
    assert "step1 failed in process: ValueError: cannot stand 5" in report.lines()


def test_after_a_failure_what_was_acknowledged_is_worked_off_and_the_rest_is_counted() -> None:
    job, shelf = job_of(chain(Pass, FailAt, Pass, count=None, capacity=8, batch=4))
    report = asyncio.run(job.run())
    source = job.graph.instances["source"][0].component
    assert isinstance(source, Numbers)
    assert shelf.values == [0, 1, 2, 3, 4]
    assert report.left, "items in front of the dead component are counted"
    # `made` counts finished puts; one more may have been taken before the source saw that its consumer had gone.
    assert len(shelf.values) + sum(report.left.values()) in (source.made, source.made + 1)


def test_a_component_that_fails_to_open_is_reported_and_what_was_opened_is_closed() -> None:
    class Locked(Pass):
        async def open(self) -> None:
            raise PermissionError("locked")

    job, shelf = job_of(chain(Locked))
    report = asyncio.run(job.run())
    assert (report.exit_code, report.failures[0].component, report.failures[0].phase) == (1, "step0", "open")
    assert (shelf.opened, shelf.closed) == (1, 1)


@pytest.mark.parametrize("stubborn", [False, True])
def test_a_component_that_hangs_in_close_is_left_behind_and_reported(stubborn: bool) -> None:
    released = asyncio.Event()

    class Clinging(Pass):
        async def close(self) -> None:
            while not released.is_set():
                try:
                    await released.wait()
                except asyncio.CancelledError:
                    if not stubborn:
                        raise

    async def scene() -> None:
        job, shelf = job_of(chain(Clinging, count=20))
        report = await job.run()
        assert report.exit_code == 1
        assert shelf.values == list(range(20)), "its work was not lost"
        assert [(failure.component, failure.phase) for failure in report.failures] == [("step0", "close")]
        assert "not closed after 0.2 s" in report.failures[0].reason
        assert shelf.closed == 1, "the others are closed all the same"
        released.set()
        await asyncio.sleep(0)

    asyncio.run(scene())


def test_a_stop_drains_the_job_and_loses_nothing() -> None:
    async def scene() -> None:
        job, shelf = job_of(chain(Pass, Negate, count=None))
        running = asyncio.create_task(job.run())
        while len(shelf.values) < 1_000:
            await asyncio.sleep(0)
        job.stop()
        report = await running
        source = job.graph.instances["source"][0].component
        assert isinstance(source, Numbers)
        assert (report.state, report.exit_code, report.left) == ("stopped", 0, {})
        assert shelf.values == [-n for n in range(source.made)]

    asyncio.run(scene())


def test_a_component_that_does_not_drain_is_ended_and_its_items_are_counted() -> None:
    async def scene() -> None:
        job, shelf = job_of(chain(Gated, count=None, capacity=8, batch=8), timeouts=Timeouts(drain_s=0.2, close_s=1))
        running = asyncio.create_task(job.run())
        gated = job.graph.instances["step0"][0].component
        assert isinstance(gated, Gated)
        await gated.busy.wait()
        job.stop()
        report = await running
        assert report.exit_code == 1
        assert {failure.phase for failure in report.failures} == {"drain"}
        assert "step0" in {failure.component for failure in report.failures}
        assert sum(report.left.values()) == 8
        assert shelf.values == []

    asyncio.run(scene())


def test_instances_share_the_work() -> None:
    async def scene() -> None:
        wiring = chain(Gated, count=600).adding(ComponentSpec("step0", Gated, instances=3))
        job, shelf = job_of(wiring)
        running = asyncio.create_task(job.run())
        gated = [instance.component for instance in job.graph.instances["step0"]]
        for component in gated:
            assert isinstance(component, Gated)
            await component.busy.wait()
        for component in gated:
            assert isinstance(component, Gated)
            component.gate.set()
        report = await running
        assert report.exit_code == 0
        assert sorted(shelf.values) == list(range(600))

    asyncio.run(scene())


def test_work_on_a_thread_gives_the_same_result() -> None:
    job, shelf = job_of(chain(Negate, Pass, count=3_000).adding(ComponentSpec("step0", Negate, place="thread")))
    assert asyncio.run(job.run()).exit_code == 0
    assert shelf.values == [-n for n in range(3_000)]


def test_a_synchronous_component_with_two_inputs_waits_for_both() -> None:
    class Sum(Sync):
        left = In(Number)
        right = In(Number)
        passed = Out(Number)

        def process(self, left: Number, right: Number) -> list[Number]:
            return [Number(left.value + 100 * right.value)]

    base = chain(Pass, count=50)
    wiring = Wiring(
        "sum",
        (
            *(
                base.component("sink"),
                ComponentSpec("a", Numbers, {"count": 50}),
                ComponentSpec("b", Numbers, {"count": 80}),
            ),
            ComponentSpec("sum", Sum),
        ),
        (
            *(ConnectorSpec("a.numbers", "sum.left"), ConnectorSpec("b.numbers", "sum.right", capacity=16, batch=8)),
            ConnectorSpec("sum.passed", "sink.numbers"),
        ),
        base.providers,
    )
    job, shelf = job_of(wiring)
    report = asyncio.run(job.run())
    assert shelf.values == [101 * n for n in range(50)]
    assert report.left == {"b.numbers -> sum.right": 16}, "b's surplus is counted, not lost"
    assert (report.state, report.exit_code) == ("done", 3)


def test_items_go_to_the_output_of_their_class_and_to_every_sink_of_it() -> None:
    class Sort(Sync):
        numbers = In(Number)
        passed = Out(Number)
        words = Out(Word, optional=True)

        def process(self, number: Number) -> Iterable[Number | Word]:
            yield number
            if number.value % 2:
                yield Word("odd")

        def drain(self) -> list[Number]:
            return [Number(1_000)]

    class Spell(Sync):
        words = In(Word)
        passed = Out(Number)

        def process(self, word: Word) -> list[Number]:
            return [Number(-1)]

    wiring = chain(Sort, count=6).adding(
        ComponentSpec("spell", Spell),
        ConnectorSpec("step0.words", "spell.words"),
        ConnectorSpec("spell.passed", "sink.numbers"),
    )
    _, values = run(wiring)
    assert sorted(values) == [-1, -1, -1, 0, 1, 2, 3, 4, 5, 1_000]


def test_an_item_of_a_class_that_no_output_takes_is_the_components_fault() -> None:
    class Odd(Sync):
        numbers = In(Number)
        passed = Out(Number)
        words = Out(Word, optional=True)

        def process(self, number: Number) -> list[object]:
            return [b"bytes"]

    report, _ = run(chain(Odd))
    assert report.failures[0].component == "step0"
    assert "bytes belongs to none of its outputs" in report.failures[0].reason


def test_an_asynchronous_component_is_woken_by_input_and_by_room() -> None:
    class Buffer(Async):
        numbers = In(Number)
        passed = Out(Number)

        async def run(self) -> None:
            waiting: list[Delivery[Number]] = []
            while waiting or not self.numbers.ended:
                while len(waiting) < 5 and (delivery := self.numbers.take()) is not None:
                    waiting.append(delivery)
                while waiting and self.passed.offer(waiting[0].item):
                    waiting.pop(0).done()
                if waiting or not self.numbers.ended:
                    await self.woken()

    job, shelf = job_of(chain(Buffer, Pass, count=500, capacity=4, batch=2))
    assert asyncio.run(job.run()).exit_code == 0
    assert shelf.values == list(range(500))


def test_two_jobs_run_in_one_process_without_knowing_of_each_other() -> None:
    async def scene() -> None:
        first, left = job_of(chain(Pass, count=300))
        second, right = job_of(chain(Negate, count=300))
        reports = await asyncio.gather(first.run(), second.run())
        assert [report.exit_code for report in reports] == [0, 0]
        assert left.values == [-value for value in right.values]

    asyncio.run(scene())


def test_cancelling_a_job_closes_everything() -> None:
    async def scene() -> None:
        shelf = List()
        job, _ = job_of(chain(Pass, count=None), shelf, FAST)
        running = asyncio.create_task(job.run())
        while len(shelf.values) < 10:
            await asyncio.sleep(0)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert shelf.closed == 1

    asyncio.run(scene())
