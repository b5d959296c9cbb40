"""What holds between two components whichever kind of connector joins them. Components cannot tell which they have."""

import asyncio

import pytest

from tests.flow.parts import FailAt, Gated, Negate, Number, Numbers, Pass, chain, job_of, run
from whimbrel.flow import ComponentSpec
from whimbrel.flow.wiring import Kind

KINDS: tuple[Kind, ...] = ("direct", "queue")


@pytest.mark.parametrize("kind", KINDS)
def test_order_is_kept_and_nothing_is_lost(kind: Kind) -> None:
    report, values = run(chain(Pass, Negate, kind=kind, count=5_000))
    assert report.exit_code == 0
    assert values == [-n for n in range(5_000)]


@pytest.mark.parametrize("kind", KINDS)
def test_everything_is_worked_off_before_the_job_is_done(kind: Kind) -> None:
    report, values = run(chain(Pass, kind=kind, count=17, capacity=4, batch=4))
    assert (report.state, report.left) == ("done", {})
    assert len(values) == 17


@pytest.mark.parametrize("kind", KINDS)
def test_a_consumer_that_fails_leaves_the_effects_of_earlier_items_and_none_of_its_own(kind: Kind) -> None:
    report, values = run(chain(Pass, FailAt, Pass, kind=kind, count=1_000))
    assert values == [0, 1, 2, 3, 4]
    assert report.exit_code == 1
    assert [(failure.component, failure.phase) for failure in report.failures] == [("step1", "process")]
    assert "cannot stand 5" in report.failures[0].reason


@pytest.mark.parametrize("kind", KINDS)
def test_a_producer_that_fails_has_what_it_gave_worked_off(kind: Kind) -> None:
    class Breaking(Numbers):
        async def run(self) -> None:
            for value in range(7):
                await self.numbers.put(Number(value))
            raise OSError("the well is dry")

    wiring = chain(Pass, kind=kind)
    wiring = wiring.adding(ComponentSpec("source", Breaking))
    report, values = run(wiring)
    assert values == list(range(7))
    assert report.exit_code == 1
    assert report.failures[0].component == "source"
    assert "the well is dry" in report.failures[0].reason


def test_a_consumer_that_does_not_take_stops_its_producer_at_the_bound() -> None:
    async def scene() -> None:
        job, shelf = job_of(chain(Gated, count=None, capacity=8, batch=8))
        running = asyncio.create_task(job.run())
        source, gated = (job.graph.instances[name][0].component for name in ("source", "step0"))
        assert isinstance(source, Numbers)
        assert isinstance(gated, Gated)
        await gated.busy.wait()
        for _ in range(50):
            await asyncio.sleep(0)
        assert source.made == 8, "the bound counts what the consumer has in hand"
        gated.gate.set()
        while len(shelf.values) < 100:
            await asyncio.sleep(0)
        job.stop()
        report = await running
        assert report.exit_code == 0
        assert shelf.values == list(range(source.made))

    asyncio.run(scene())
