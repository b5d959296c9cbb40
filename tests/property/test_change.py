"""Whatever a job is changed to, in whatever order: nothing is lost, nothing comes twice."""

import asyncio
from dataclasses import replace

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from tests.flow.parts import List, Negate, Numbers, Pass, chain, job_of
from whimbrel.flow import ComponentSpec, Wiring, WiringError, check
from whimbrel.flow.wiring import Kind


@st.composite
def wirings(draw: st.DrawFn) -> Wiring:
    """A chain of up to three steps, joined directly or by small queues, some on a thread or in several copies."""
    uses = draw(st.lists(st.sampled_from([Pass, Negate]), max_size=3))
    wiring = chain(*uses, count=None, capacity=draw(st.integers(4, 40)), batch=draw(st.integers(1, 4)))
    kinds: list[Kind] = draw(
        st.lists(st.sampled_from(["direct", "queue"]), min_size=len(uses) + 1, max_size=len(uses) + 1)
    )
    connectors = [replace(c, kind=kind) for c, kind in zip(wiring.connectors, kinds, strict=True)]
    wiring = replace(wiring, connectors=tuple(connectors))
    for at, use in enumerate(uses):
        spec = ComponentSpec(
            f"step{at}", use, instances=draw(st.integers(1, 3)), place=draw(st.sampled_from(["loop", "thread"]))
        )
        try:
            changed = wiring.adding(spec)
            check(changed)
        except WiringError:
            continue
        wiring = changed
    return wiring


@settings(max_examples=60, deadline=None, phases=(Phase.explicit, Phase.generate))
@given(st.lists(wirings(), min_size=2, max_size=5))
def test_nothing_is_lost_and_nothing_comes_twice_through_any_changes(steps: list[Wiring]) -> None:
    asyncio.run(_change_through(steps))


@pytest.mark.long
@settings(max_examples=5_000, deadline=None, phases=(Phase.explicit, Phase.generate))
@given(st.lists(wirings(), min_size=2, max_size=8))
def test_nothing_is_lost_and_nothing_comes_twice_through_thousands_of_changes(steps: list[Wiring]) -> None:
    asyncio.run(_change_through(steps))


async def _change_through(steps: list[Wiring]) -> None:
    job, shelf = job_of(steps[0])
    running = asyncio.create_task(job.run())
    for wiring in steps[1:]:
        await _more(shelf)
        await job.apply(wiring)
    await _more(shelf)
    job.stop()
    report = await running
    source = job.graph.instances["source"][0].component
    assert isinstance(source, Numbers)
    assert report.exit_code == 0, report.lines()
    assert report.left == {}
    got = sorted(abs(value) for value in shelf.values)
    assert got == list(range(source.made)), (len(got), source.made, len(set(got)), got[-3:])


async def _more(shelf: List) -> None:
    goal = len(shelf.values) + 30
    while len(shelf.values) < goal:
        await asyncio.sleep(0)
