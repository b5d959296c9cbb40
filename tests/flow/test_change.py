"""A running job is taken from one wiring to another: drained, nothing lost, nothing twice."""

import asyncio
from collections.abc import Awaitable, Callable
from itertools import pairwise

import pytest

from tests.flow.parts import FailAt, Gated, List, Negate, Number, Numbers, Pass, chain, job_of
from whimbrel.flow import (
    ChangeFailed,
    ComponentSpec,
    ConnectorSpec,
    In,
    Job,
    Out,
    ProviderSpec,
    Report,
    Sync,
    Wiring,
    WiringError,
)
from whimbrel.flow.job import Timeouts
from whimbrel.flow.wiring import Kind

KINDS: tuple[Kind, ...] = ("direct", "queue")


async def at_least(shelf: List, count: int) -> None:
    goal = len(shelf.values) + count
    while len(shelf.values) < goal:
        await asyncio.sleep(0)


def play(wiring: Wiring, scene: Callable[[Job, List], Awaitable[None]]) -> tuple[Report, list[int], int]:
    """Run a wiring with an endless source, play a scene in it, stop; returns report, values and how many were made."""

    async def whole() -> tuple[Report, list[int], int]:
        job, shelf = job_of(wiring)
        running = asyncio.create_task(job.run())
        await at_least(shelf, 50)
        await scene(job, shelf)
        await at_least(shelf, 50)
        job.stop()
        report = await running
        source = job.graph.instances["source"][0].component
        assert isinstance(source, Numbers)
        return report, shelf.values, source.made

    return asyncio.run(whole())


@pytest.mark.parametrize("kind", KINDS)
def test_a_component_is_put_into_a_running_chain_and_taken_out_again(kind: Kind) -> None:
    plain = chain(Pass, count=None, kind=kind)
    with_step = chain(Pass, Negate, count=None, kind=kind)

    async def scene(job: Job, shelf: List) -> None:
        for _ in range(5):
            await job.apply(with_step)
            await at_least(shelf, 50)
            await job.apply(plain)
            await at_least(shelf, 50)

    report, values, made = play(plain, scene)
    assert report.exit_code == 0, report.lines()
    assert [abs(value) for value in values] == list(range(made))
    switches = sum((a > 0) != (b > 0) for a, b in pairwise(values[1:]))
    assert switches == 10
    if kind == "queue":
        assert report.changes == ("added step1", "removed step1") * 5


def test_a_component_is_replaced_when_its_configuration_changes() -> None:
    wiring = chain(Pass, FailAt, count=None).adding(ComponentSpec("step1", FailAt, {"at": -1}))

    async def scene(job: Job, shelf: List) -> None:
        old = job.graph.instances["step1"][0].component
        await job.apply(wiring.adding(ComponentSpec("step1", FailAt, {"at": -2})))
        assert job.graph.instances["step1"][0].component is not old

    report, values, made = play(wiring, scene)
    assert report.changes == ("replaced step1",)
    assert values == list(range(made))


def test_the_number_of_instances_and_the_place_change_while_it_runs() -> None:
    wiring = chain(Pass, count=None)

    async def scene(job: Job, shelf: List) -> None:
        for spec in (ComponentSpec("step0", Pass, instances=4), ComponentSpec("step0", Pass, place="thread")):
            await job.apply(wiring.adding(spec))
            await at_least(shelf, 200)

    report, values, made = play(wiring, scene)
    assert report.exit_code == 0
    assert sorted(values) == list(range(made))


@pytest.mark.parametrize("kind", KINDS)
def test_a_component_is_bound_to_another_provider_and_keeps_running(kind: Kind) -> None:
    wiring = chain(Pass, count=None, kind=kind).adding(ProviderSpec("other", List))

    async def scene(job: Job, shelf: List) -> None:
        sink = job.graph.instances["sink"][0].component
        await job.apply(wiring.rebinding("sink", "shelf", "other"))
        other = job.graph.providers["other"]
        assert isinstance(other, List)
        await at_least(other, 100)
        await job.apply(wiring)
        assert job.graph.instances["sink"][0].component is sink
        shelf.values.extend(-value for value in other.values)

    report, values, made = play(wiring, scene)
    assert report.changes == ("rebound sink", "rebound sink")
    assert sorted(map(abs, values)) == list(range(made))
    assert any(value < 0 for value in values)


def test_a_new_provider_is_opened_before_and_the_old_one_closed_after_the_change() -> None:
    wiring = chain(Pass, count=None)
    shelves: list[List] = []

    class Fresh(List):
        pass

    async def scene(job: Job, shelf: List) -> None:
        await job.apply(wiring.adding(ProviderSpec("shelf", Fresh)))
        fresh = job.graph.providers["shelf"]
        assert isinstance(fresh, Fresh)
        assert (fresh.opened, fresh.closed, shelf.closed) == (1, 0, 1)
        await at_least(fresh, 10)
        await job.apply(wiring)
        last = job.graph.providers["shelf"]
        assert isinstance(last, List)
        assert fresh.closed == 1
        shelves.extend((shelf, fresh, last))
        shelf.values = last.values = list(shelf.values) + fresh.values + last.values

    report, _, made = play(wiring, scene)
    assert report.exit_code == 0
    assert shelves[2].values == list(range(made))
    assert shelves[2].closed == 1


def test_a_busy_component_finishes_what_it_has_before_it_is_removed() -> None:
    wiring = chain(Gated, Pass, count=None, capacity=8, batch=4).adding(
        ComponentSpec("step0", Gated, {"start_open": True})
    )
    without = chain(Pass, count=None, capacity=8, batch=4)

    async def scene(job: Job, shelf: List) -> None:
        gated = job.graph.instances["step0"][0].component
        assert isinstance(gated, Gated)
        gated.gate.clear()
        gated.busy.clear()
        await gated.busy.wait()
        change = asyncio.create_task(job.apply(without))
        for _ in range(20):
            await asyncio.sleep(0)
        assert not change.done()
        gated.gate.set()
        await change

    report, values, made = play(wiring, scene)
    assert report.exit_code == 0
    assert values == list(range(made))


def test_a_component_that_cannot_be_drained_fails_the_change_and_the_job_and_its_items_are_counted() -> None:
    async def scene() -> None:
        wiring = chain(Gated, Pass, count=None, capacity=8, batch=4)
        job, shelf = job_of(wiring, timeouts=Timeouts(change_s=0.3, drain_s=0.3, close_s=1))
        running = asyncio.create_task(job.run())
        gated = job.graph.instances["step0"][0].component
        assert isinstance(gated, Gated)
        await gated.busy.wait()
        with pytest.raises(ChangeFailed, match=r"not done within 0\.3 s"):
            await job.apply(chain(Pass, count=None, capacity=8, batch=4))
        report = await running
        assert report.exit_code == 1
        assert "change" in {failure.phase for failure in report.failures}
        assert sum(report.left.values()) >= 8
        assert shelf.values == []

    asyncio.run(scene())


def test_a_wrong_wiring_changes_nothing() -> None:
    wiring = chain(Pass, count=None)

    async def scene(job: Job, shelf: List) -> None:
        with pytest.raises(WiringError):
            await job.apply(wiring.removing("sink"))

    report, values, made = play(wiring, scene)
    assert report.exit_code == 0
    assert values == list(range(made))


def test_only_a_running_job_can_be_changed() -> None:
    async def scene() -> None:
        job, _ = job_of(chain(Pass, count=3))
        await job.run()
        with pytest.raises(ChangeFailed, match="the job is done"):
            await job.apply(chain(Pass, Pass))

    asyncio.run(scene())


def test_a_branch_is_added_beside_a_running_one_and_both_get_everything() -> None:
    class Copy(Sync):
        numbers = In(Number)
        copied = Out(Number)

        def process(self, number: Number) -> list[Number]:
            return [Number(number.value)]

    wiring = chain(Pass, count=None)
    branch = wiring.adding(
        ComponentSpec("copy", Copy),
        ConnectorSpec("step0.passed", "copy.numbers"),
        ConnectorSpec("copy.copied", "sink.numbers"),
    )

    async def scene(job: Job, shelf: List) -> None:
        await job.apply(branch)
        await at_least(shelf, 100)
        await job.apply(wiring)

    report, values, made = play(wiring, scene)
    assert report.exit_code == 0
    assert set(values) == set(range(made))
    twice = len(values) - made
    assert 50 <= twice <= made, "what passed while the branch was there came twice"


def test_a_source_is_replaced_while_the_others_go_on() -> None:
    wiring = chain(Pass, count=None)
    second = ComponentSpec("second", Numbers, {"count": None})

    async def scene(job: Job, shelf: List) -> None:
        await job.apply(wiring.adding(second, ConnectorSpec("second.numbers", "step0.numbers")))
        await at_least(shelf, 100)
        await job.apply(wiring)

    report, values, made = play(wiring, scene)
    assert report.exit_code == 0
    assert report.left == {}
    assert set(values) == set(range(made))
