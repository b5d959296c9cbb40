"""The downloader in a job, with a real transport and a served web."""

import asyncio
from typing import Any

import pytest

from tests.fetch.rig import OK, raw, url
from tests.sim.web import Served
from whimbrel.clock import Clock, SystemClock
from whimbrel.fetch.api import Fetched
from whimbrel.fetch.curl import CurlTransport
from whimbrel.fetch.downloader import Downloader
from whimbrel.fetch.trouble import Trouble
from whimbrel.flow import (
    Async,
    Component,
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
from whimbrel.flow.wiring import Kind
from whimbrel.url import Url
from whimbrel.visit import Request, Visit


class VisitsConfig(Config, frozen=True):
    urls: tuple[str, ...] = ()
    address: str = "127.0.0.1"


class Visits(Async):
    Config = VisitsConfig
    visits = Out(Visit)

    async def run(self) -> None:
        for text in self.config.urls:
            await self.visits.put(Visit(Request(url(text)), 0, "", 0, 1, self.config.address, b""))
            if self.draining:
                return


class Departed(Provider):
    """Counts the requests that were sent."""

    def __init__(self, config: Any = None) -> None:
        super().__init__(config)
        self.urls: list[str] = []
        self.answers = 0

    def sent(self, url: Url, address: str) -> None:
        self.urls.append(url.text)

    def landed(self, address: str) -> None:
        self.answers += 1


class Held(Async):
    """Takes nothing until all requests are out."""

    fetched = In(Fetched)
    gate = Needs(Departed)

    async def run(self) -> None:
        while len(self.gate.urls) < HELD:
            await asyncio.sleep(0.001)
        async for _ in self.fetched:
            pass


HELD = 20


class Shown(Sync):
    """Shows what it gets to a list outside."""

    fetched = In(Fetched)

    def __init__(self, config: Any = None) -> None:
        super().__init__(config)
        self.seen: list[Fetched] = []

    def process(self, fetched: Fetched) -> None:
        self.seen.append(fetched)


def job_of(
    urls: list[str], connections: int, kind: Kind = "queue", capacity: int = 16, shown: type[Component] = Shown
) -> Job:
    needs = {"transport": "transport", "gate": "gate"}
    wiring = Wiring(
        "download",
        (
            ComponentSpec("visits", Visits, {"urls": tuple(urls)}),
            ComponentSpec("downloader", Downloader, {"connections": connections}, needs),
            ComponentSpec("shown", shown, {}, dict.fromkeys(shown.needs, "gate")),
        ),
        (
            ConnectorSpec("visits.visits", "downloader.visits", "queue", max(capacity, connections), 1),
            ConnectorSpec("downloader.fetched", "shown.fetched", kind, capacity, 1),
        ),
        (
            ProviderSpec("clock", SystemClock),
            ProviderSpec("gate", Departed),
            ProviderSpec("transport", CurlTransport, {"allow_networks": ("127.0.0.0/8",)}, {"clock": "clock"}),
        ),
    )
    return Job(check(wiring))


def seen(job: Job) -> list[Fetched]:
    shown = job.graph.instances["shown"][0].component
    assert isinstance(shown, Shown)
    return shown.seen


@pytest.mark.parametrize("kind", ["queue", "direct"])
@pytest.mark.parametrize(("connections", "capacity"), [(1, 1), (8, 2), (32, 64)])
def test_every_visit_is_made_once_and_handed_on(web: Served, kind: Kind, connections: int, capacity: int) -> None:
    host = next(host for host in map(web.web.hosts.get, range(300)) if host.scheme == "http")
    urls = [f"{host.origin}/?download={number}" for number in range(100)]
    urls += [f"{host.origin}/x/reset/{number}" for number in range(5)]
    job = job_of(urls, connections, kind, capacity)
    report = asyncio.run(job.run())
    assert report.exit_code == 0, report.lines()
    assert sorted(fetched.visit.url.text for fetched in seen(job)) == sorted(urls)
    assert report.left == {}
    gate = job.graph.providers["gate"]
    assert isinstance(gate, Departed)
    assert sorted(gate.urls) == sorted(urls)
    assert gate.answers == len(urls)
    troubles = [fetched.exchange.trouble for fetched in seen(job)]
    assert (troubles.count(Trouble.NONE), troubles.count(Trouble.RESET)) == (100, 5)


def test_a_full_output_keeps_no_visit_from_its_way() -> None:
    async def scene() -> None:
        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(OK)

        async with raw(answer) as port:
            urls = [f"http://h{number}.test:{port}/" for number in range(HELD)]
            job = job_of(urls, HELD, capacity=1, shown=Held)
            report = await asyncio.wait_for(job.run(), 30)
        assert (report.exit_code, report.left) == (0, {})

    asyncio.run(scene())


def test_no_more_visits_are_under_way_than_it_was_told() -> None:
    async def scene() -> None:
        open_now = most = 0

        async def count(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            nonlocal open_now, most
            await reader.readuntil(b"\r\n\r\n")
            open_now += 1
            most = max(most, open_now)
            await asyncio.sleep(0.005)
            open_now -= 1
            writer.write(OK)

        async with raw(count) as port:
            job = job_of([f"http://h{number}.test:{port}/" for number in range(60)], 7)
            report = await job.run()
        assert report.exit_code == 0
        assert most == 7
        assert len(seen(job)) == 60

    asyncio.run(scene())


def test_a_job_that_is_stopped_finishes_the_visits_under_way() -> None:
    async def scene() -> None:
        started = asyncio.Event()

        async def slow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            started.set()
            await asyncio.sleep(0.1)
            writer.write(OK)

        async with raw(slow) as port:
            job = job_of([f"http://h{number}.test:{port}/" for number in range(1000)], 5, capacity=5)
            running = asyncio.create_task(job.run())
            await started.wait()
            job.stop()
            report = await running
        assert not report.failures
        assert report.left == {}
        assert {fetched.exchange.trouble for fetched in seen(job)} == {""}
        assert 5 <= len(seen(job)) < 1000

    asyncio.run(scene())


def test_the_clock_is_a_need_of_the_transport() -> None:
    assert CurlTransport.needs["clock"].protocol is Clock
