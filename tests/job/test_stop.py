"""A crawl that is asked to stop once, twice, early and late."""

import asyncio
from threading import Thread

import pytest

from whimbrel.flow import Async, ComponentSpec, Job, Provider, ProviderSpec, Registry, Report, Wiring, check
from whimbrel.job.stop import StopRequest


class Slow(Provider):
    """Takes for ever to open, as a recovery of a large crawl may seem to."""

    async def open(self) -> None:
        await asyncio.Event().wait()


class Idle(Async):
    async def run(self) -> None:
        while not self.draining:
            await self.woken()


class Stubborn(Async):
    """Does not end when it is asked to."""

    async def run(self) -> None:
        await asyncio.Event().wait()


def job(component: type[Async], *providers: ProviderSpec) -> Job:
    registry = Registry()
    return Job(check(Wiring("stop", (ComponentSpec("one", component),), (), providers), registry), registry)


async def ended(one: Job, stop: StopRequest, *, asked: int, when: str) -> tuple[Report, list[str]]:
    said: list[str] = []
    stop.attach(one, said.append)
    running = asyncio.create_task(one.run())
    async with asyncio.timeout(20):
        while when and one.state != when:
            await asyncio.sleep(0)
        for _ in range(asked):
            thread = Thread(target=stop.ask)
            thread.start()
            await asyncio.to_thread(thread.join)
        return await running, said


def test_one_request_ends_it_in_good_order() -> None:
    report, said = asyncio.run(ended(job(Idle), StopRequest(), asked=1, when="running"))
    assert (report.state, report.exit_code, len(said)) == ("stopped", 0, 1)


@pytest.mark.parametrize("when", ["running", "opening"])
def test_a_second_request_ends_it_now_whatever_it_is_doing(when: str) -> None:
    slow = (ProviderSpec("slow", Slow),) if when == "opening" else ()
    report, said = asyncio.run(ended(job(Stubborn, *slow), StopRequest(), asked=2, when=when))
    assert report.state == ("failed" if when == "opening" else "stopped")
    assert said == ["stopping: waiting for the visits under way; interrupt again to end now"]


def test_what_was_asked_before_the_crawl_began_counts() -> None:
    stop = StopRequest()
    stop.ask()
    report, _ = asyncio.run(ended(job(Idle), stop, asked=0, when=""))
    assert report.state == "stopped"
    twice = StopRequest()
    twice.ask()
    twice.ask()
    report, _ = asyncio.run(ended(job(Stubborn), twice, asked=0, when=""))
    assert report.state == "stopped"
