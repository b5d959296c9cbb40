"""The traversal in a running crawl: it is replaced, the disk fails, and the crawl ends when its termination says so."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from tests.frontier.rig import Rig, quick_directory
from tests.sim.crawl import QUICK
from tests.sim.web import Served, serve
from whimbrel.bench.exact import differences
from whimbrel.flow import ConnectorSpec, Provider
from whimbrel.flow.toml import wiring_text
from whimbrel.frontier.api import OPERATOR
from whimbrel.frontier.termination import LocalTermination, TerminationConfig
from whimbrel.frontier.traversal import Traversal
from whimbrel.job.crawl import crawl
from whimbrel.job.live_crawl import LiveCrawl
from whimbrel.job.options import combined
from whimbrel.job.parts import wiring
from whimbrel.job.resume import resume
from whimbrel.job.setting import parsed_settings
from whimbrel.job.stored import stored_job
from whimbrel.observable import Observable
from whimbrel.shortage import Shortage
from whimbrel.simweb.spec import WebSpec
from whimbrel.visit import VisitResult


class OtherTraversal(Traversal):
    """The same under another name: a change to it replaces the one that runs."""


@pytest.fixture
def web(tmp_path: Path) -> Iterator[Served]:
    with serve(WebSpec(hosts=12, pages=40, latency_ms=10, robots={}, exhibits={}), tmp_path / "web") as served:
        yield served


def crawled(
    served: Served, directory: Path, scene: Callable[[LiveCrawl], Coroutine[None, None, None]], **more: object
) -> str:
    """A whole crawl with a scene played beside it; how it ended."""
    running = served.running
    given = combined(
        [
            (
                "test",
                {
                    "seeds": running.seeds,
                    "scope": "any",
                    "max_depth": 0,
                    "delay": 0.0,
                    "allow_network": ["127.0.0.0/8"],
                    "resolver": f"127.0.0.1:{running.dns_port}",
                    "ca": running.ca,
                    "set": parsed_settings([f"{key}={value}" for key, value in QUICK.items()]),
                    **more,
                },
            )
        ]
    )

    @asynccontextmanager
    async def attend(running: LiveCrawl) -> AsyncIterator[None]:
        playing = asyncio.create_task(scene(running))
        try:
            yield
            await playing
        finally:
            playing.cancel()

    return crawl(given, directory, lambda _: None, lambda _: None, attend=attend).state


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not true():
            await asyncio.sleep(0.01)


def visited(running: LiveCrawl) -> int:
    return running.journal.counters.visits if running.up else 0


def test_a_traversal_that_is_replaced_leaves_no_listener_and_loses_nothing(web: Served, tmp_path: Path) -> None:
    counts: list[tuple[int, ...]] = []

    async def scene(running: LiveCrawl) -> None:
        for number in range(6):
            seen = visited(running)
            await until(lambda: visited(running) >= seen + 30)  # noqa: B023
            now = running.job.graph.wiring
            use = OtherTraversal if number % 2 == 0 else Traversal
            await running.job.apply(now.adding(replace(now.component("traversal"), use=use)))
            await asyncio.sleep(0)
            watched = (running.frontier, running.journal, running.job.graph.providers["termination"])
            counts.append(tuple(len(part._listeners) for part in watched if isinstance(part, Observable)))

    assert crawled(web, tmp_path / "crawl", scene, connections=8) == "done"
    assert len(counts) == 6
    assert {(frontier, journal) for frontier, journal, _ in counts} == {(1, 2)}, "dedupe listens to the journal, too"
    assert all(termination <= 1 for _, _, termination in counts)
    assert differences(tmp_path / "crawl", web.web, web.running.seeds) == []


def test_while_the_disk_takes_no_data_the_gate_is_closed(web: Served, tmp_path: Path) -> None:
    found: list[object] = []

    async def scene(running: LiveCrawl) -> None:
        await until(lambda: visited(running) >= 30)
        running.gate.close_for(OPERATOR)
        running.journal._say(Shortage("disk", "No space left on device"))
        found.extend((sorted(running.gate.closed_for), running.gate.paused))
        progress = running.progress()
        found.append("" if progress is None else progress.bound_by)
        await until(lambda: not running.journal.trouble)  # The next commit finds that there is room.
        found.append(sorted(running.gate.closed_for))
        running.gate.reopen_for(OPERATOR)

    assert crawled(web, tmp_path / "crawl", scene) == "done"
    assert found == [
        ["disk", OPERATOR],
        True,
        "the disk, which takes no data and the operator, who paused it (`whimbrel control DIR unpause`)",
        [OPERATOR],
    ]
    assert differences(tmp_path / "crawl", web.web, web.running.seeds) == []


def test_a_stop_ends_a_crawl_whose_qualifier_is_full_of_hosts_that_wait_at_the_gate(
    web: Served, tmp_path: Path
) -> None:
    """Four hosts of one domain, a minute apart; the qualifier takes one at a time."""
    stopped_s: list[float] = []

    async def scene(running: LiveCrawl) -> None:
        await until(lambda: running.up and running.journal.counters.qualifications.get("qualified") == 1)
        running.gate.close_for(OPERATOR)
        running.job.stop()
        stopped_s.append(time.monotonic())

    narrow = tmp_path / "narrow.toml"
    joint = ConnectorSpec("traversal.hosts", "qualifier.due", capacity=1, batch=1)
    narrow.write_text(wiring_text(wiring("standalone").adding(joint)))
    settings = parsed_settings([*(f"{key}={value}" for key, value in QUICK.items()), "qualifier.parallel=1"])
    seeds = [web.web.hosts.get(number).origin for number in range(4)]
    more = {"seeds": seeds, "set": settings, "wiring": str(narrow), "delay": 60.0}
    assert crawled(web, tmp_path / "crawl", scene, **more) == "stopped"
    assert time.monotonic() - stopped_s[0] < 30.0


class Commits(Provider):
    """A journal with nothing to do but what a test says."""

    behind = False
    shortage = None

    def listen(self, changed: Callable[[], None]) -> None:
        """Nothing ever changes by itself."""

    def unlisten(self, changed: Callable[[], None]) -> None:
        """Nor here."""


def test_a_crawl_is_over_when_nothing_is_under_way_and_nothing_is_due_soon() -> None:
    with quick_directory() as directory:
        rig = Rig(directory)
        commits = Commits()
        termination = LocalTermination(TerminationConfig(patience_s=600.0))
        for name, part in (("frontier", rig.frontier), ("journal", commits), ("gate", rig.gate)):
            termination.bind(name, part)
        assert termination.is_over(), "nothing was ever found"
        rig.add("http://h1.d1.example/")
        assert not termination.is_over()
        rig.take()
        due = rig.frontier.take_host()
        assert due is not None
        assert not termination.is_over(), "a host is being qualified"
        rig.frontier.unqualified(due.host)
        rig.qualify()
        visit = rig.next()
        assert visit is not None
        assert not termination.is_over(), "a visit is under way"
        rig.frontier.retry(visit, VisitResult(status=503), 601.0)
        assert termination.is_over(), "the next try is too far away"
        commits.behind = True
        assert not termination.is_over(), "results wait to become durable"
        commits.behind = False
        rig.gate.close_for(OPERATOR)
        assert not termination.is_over(), "a paused crawl waits"
        rig.gate.reopen_for(OPERATOR)
        told: list[int] = []
        termination.listen(lambda: told.append(1))
        termination.reconfigure(TerminationConfig(patience_s=700.0))
        assert told == [1]
        assert not termination.is_over()
        rig.close()


def test_a_callback_that_fails_ends_the_crawl_and_a_resume_goes_on(web: Served, tmp_path: Path) -> None:
    """What it was to do, the next commit say, would never be done, and nobody would notice."""

    def fail() -> None:
        raise MemoryError("no room for a timer")

    async def scene(running: LiveCrawl) -> None:
        await until(lambda: visited(running) >= 30)
        asyncio.get_running_loop().call_soon(fail)

    assert crawled(web, tmp_path / "crawl", scene) == "failed"
    done = resume(stored_job(tmp_path / "crawl"), tmp_path / "crawl", lambda _: None, lambda _: None)
    assert done.state == "done"
    assert differences(tmp_path / "crawl", web.web, web.running.seeds) == []
