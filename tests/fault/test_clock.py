"""Somebody sets the machine's clock while a crawl runs, or between two runs. Judged from the server's log."""

import os
import random
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

from tests.fault.crawl import await_that, commit_number, crawl_command, resume_command, rows, started
from tests.fault.local_server import BodyServer, body_server
from tests.fault.stepped_clock import DAY_S, SteppedClock
from tests.fault.test_busy_server import BusyOnce
from tests.job.site import served as served_pages
from tests.sim.web import Served, serve
from whimbrel.bench.exact import differences
from whimbrel.bench.politeness import Etiquette, judge
from whimbrel.bench.politeness.etiquette import with_delay
from whimbrel.bench.politeness.run import PolitenessPlan, web_spec
from whimbrel.simweb.server.control import ask
from whimbrel.simweb.server.log import read_log
from whimbrel.simweb.spec import WebSpec

HOSTS = 4
DELAY_S = 0.2
CRAWL_DELAY_S = 1.0
ETIQUETTE: Etiquette = msgspec.structs.replace(with_delay(DELAY_S), max_crawl_delay_s=CRAWL_DELAY_S)
PATIENCE = {
    "qualifier.retry_s": 2.5,
    "qualifier.retry_max_s": 2.5,
    "qualifier.pause_s": 2.0,
    "qualifier.max_failures": 2,
    "gate.max_crawl_delay_s": CRAWL_DELAY_S,
}
"""Quick, but no quicker than the judge allows."""
STOPPED = 3
BUSY_SHARE = 0.7
"""A crawl that waits for the clocks of politeness uses a part of one processor; one that spins, all of it."""
STEPS_S = [-2 * DAY_S, -3_600.0, 2 * DAY_S]
WAIT_S = 12
"""What a busy server asks for: longer than it takes to start several crawls at once."""
LATE_S = 18.0


@pytest.fixture
def clock(tmp_path: Path) -> SteppedClock:
    return SteppedClock(tmp_path / "clock")


def offsets(count: int) -> list[float]:
    """From two days behind to two days ahead, in no order."""
    found = [(4 * at / (count - 1) - 2) * DAY_S for at in range(count)]
    random.Random(3).shuffle(found)  # noqa: S311 - clocks, not secrets
    return found


class Scene:
    """A troubled web with real delays, and the crawl of it."""

    def __init__(self, served: Served, folder: Path, clock: SteppedClock) -> None:
        self.served, self.folder, self.clock = served, folder, clock
        self.into = folder / "crawl"
        self.cpu_s = self.seconds = 0.0
        """Of all runs so far."""

    def requests(self) -> int:
        found = ask(Path(self.served.running.control), {"do": "status"})["served"]
        assert isinstance(found, dict)
        return sum(found.values())

    @contextmanager
    def crawling(self) -> Iterator["subprocess.Popen[bytes]"]:
        """The first run, or the next one."""
        first = crawl_command(self.served, self.into, f"{DELAY_S}s", **PATIENCE)
        command = resume_command(self.into) if self.into.exists() else first
        before, began_s = os.times(), time.monotonic()
        with started(command, self.folder / "log", self.clock.wrapper) as process:
            yield process
        after = os.times()
        self.cpu_s += after.children_user + after.children_system - before.children_user - before.children_system
        self.seconds += time.monotonic() - began_s

    def await_requests(self, process: "subprocess.Popen[bytes]", count: int) -> None:
        assert await_that(lambda: self.requests() >= count, process), "the crawl is over before the last step"

    def assert_undisturbed(self) -> None:
        """The server's log is whole."""
        log = read_log(self.folder / "web" / "access.tsv")
        assert judge(log, self.served.web, ETIQUETTE, seeds=self.served.running.seeds) == []
        assert differences(self.into, self.served.web, self.served.running.seeds) == []
        assert self.cpu_s < BUSY_SHARE * self.seconds


def set_during_a_crawl(scene: Scene, steps_s: Sequence[float], every: int) -> None:
    """One step after each so many requests."""
    with scene.crawling() as process:
        for number, ahead_s in enumerate(steps_s, 1):
            scene.await_requests(process, number * every)
            scene.clock.set(ahead_s)
        assert process.wait(300) == 0


def set_between_runs(scene: Scene, steps_s: Sequence[float], every: int) -> None:
    for number, ahead_s in enumerate(steps_s, 1):
        with scene.crawling() as process:
            scene.await_requests(process, number * every)
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) == STOPPED
        scene.clock.set(ahead_s)
    with scene.crawling() as process:
        assert process.wait(300) == 0


Disturb = Callable[[Scene, Sequence[float], int], None]
WHEN = pytest.mark.parametrize("disturb", [set_during_a_crawl, set_between_runs])


def undisturbed(spec: WebSpec, folder: Path, clock: SteppedClock, disturb: Disturb, steps: int, every: int) -> None:
    with serve(spec, folder / "web") as served:
        scene = Scene(served, folder, clock)
        disturb(scene, offsets(steps), every)
    scene.assert_undisturbed()


@WHEN
def test_a_clock_that_is_set_changes_nothing(tmp_path: Path, clock: SteppedClock, disturb: Disturb) -> None:
    exhibits = dict.fromkeys(("retry-seconds-429", "retry-date-503", "recovers-retry-after", "recovers-1"), 0.05)
    robots = dict.fromkeys(("rules", "crawl-delay", "missing-404"), 0.2)
    spec = msgspec.structs.replace(
        web_spec(PolitenessPlan()), hosts=8, pages=6, exhibits=exhibits, robots=robots, trouble={}
    )
    undisturbed(spec, tmp_path, clock, disturb, 4, 12)


@pytest.mark.long
@pytest.mark.timeout(1_200)
@WHEN
def test_a_clock_that_is_set_twenty_times_changes_nothing(
    tmp_path: Path, clock: SteppedClock, disturb: Disturb
) -> None:
    spec = msgspec.structs.replace(web_spec(PolitenessPlan()), hosts=60, pages=20)
    undisturbed(spec, tmp_path, clock, disturb, 20, 50)


def crawl_of(server: BodyServer, into: Path, *more: str) -> list[str]:
    seeds = [
        f"http://127.0.1.{number}:{server.port}/{size}" for number in range(1, HOSTS + 1) for size in (1_000, 2_000)
    ]
    return [
        *("crawl", *seeds, "--scope", "page", "--into", str(into), "--json", "--contact", "a@b.example"),
        *("--allow-network", "127.0.0.0/8", *more),
    ]


def run(clock: SteppedClock, command: list[str], log: Path) -> int:
    with started(command, log, clock.wrapper) as process:
        return process.wait(60)


def robots_per_host(server: BodyServer) -> Counter[str]:
    return Counter(asked.host for asked in server.log if asked.path == "/robots.txt")


@pytest.mark.parametrize("step_s", STEPS_S)
def test_what_is_known_of_hosts_holds_as_long_as_it_should_though_the_clock_was_set(
    tmp_path: Path, clock: SteppedClock, step_s: float
) -> None:
    into, log = tmp_path / "crawl", tmp_path / "log"
    with body_server() as server:
        assert run(clock, crawl_of(server, into, "--max-pages", str(HOSTS)), log) == 0
        clock.set(step_s)
        assert run(clock, ["resume", str(into), "--json", "--set", "max_pages=1000"], log) == 0
        assert len([asked for asked in server.log if asked.path != "/robots.txt"]) == 2 * HOSTS
        assert set(robots_per_host(server).values()) == {1}
    wall_s = time.time() + step_s
    found = [row["until"] for row in rows(into, "select epoch(until) as until from hosts")]
    assert len(found) == HOSTS
    # A day from the moment at which robots.txt was asked for, as the clock now tells it.
    assert all(wall_s + DAY_S - 60 < until_s <= wall_s + DAY_S for until_s in found)


class BusyAndThen(BusyOnce):
    """Something happens when it is first asked for a page."""

    def __init__(self, then: Callable[[], None]) -> None:
        super().__init__(429, WAIT_S)
        self.then = then

    def get(self, key: str, default: Any = None) -> Any:
        if key == "/" and not self.asked_s:
            self.then()
        return super().get(key, default)


class Case(NamedTuple):
    """What happens to the clock, and how long a server is left alone then, at most."""

    in_run_s: float
    """How far the clock is ahead from when the server said that it has no time."""
    between_s: float
    """How far when the crawl, which was killed, is resumed."""
    booted: bool
    """The machine was started anew in between."""
    most_s: float = WAIT_S + LATE_S


CASES = {
    "back": Case(0.0, -2 * DAY_S, booted=False),
    "back an hour": Case(0.0, -3_600.0, booted=False),
    "forth": Case(0.0, 2 * DAY_S, booted=False),
    "rebooted": Case(0.0, 0.0, booted=True),
    # Nobody knows how long the machine was down: the rest begins anew.
    "rebooted and back": Case(0.0, -2 * DAY_S, booted=True, most_s=2 * WAIT_S + LATE_S),
    "forth and rebooted": Case(2 * DAY_S, 2 * DAY_S, booted=True),
}


def pause_of_a_busy_server(folder: Path, case: Case) -> float:
    """Seconds between the answer of a server that has no time and the next request, where the crawl was killed and
    resumed in between."""
    folder.mkdir()
    clock = SteppedClock(folder / "clock")
    pages, crawl, log = BusyAndThen(lambda: clock.set(case.in_run_s)), folder / "crawl", folder / "log"
    with served_pages(pages) as port:
        command = ["crawl", f"http://127.0.0.1:{port}/", "--into", str(crawl), "--delay", "0s"]
        command += ["--allow-network", "127.0.0.0/8", "--set", "effects.retry_s=0.1", "--set", "journal.every_s=3600"]
        with started(command, log, clock.wrapper) as process:
            # No other commit is made for an hour: this one was forced by the answer.
            assert await_that(lambda: commit_number(crawl) > 0, process), log.read_text()
            process.send_signal(signal.SIGKILL)
            process.wait()
        clock.set(case.between_s)
        if case.booted:
            clock.reboot(60.0 - time.clock_gettime(time.CLOCK_BOOTTIME))
        assert run(clock, ["resume", str(crawl)], log) == 0, log.read_text()
    first_s, second_s = pages.asked_s
    return second_s - first_s


@pytest.fixture(scope="module")
def pauses(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, "Future[float]"]]:
    """Begun all together: they mostly wait."""
    into = tmp_path_factory.mktemp("pauses")
    with ThreadPoolExecutor(len(CASES)) as pool:
        yield {name: pool.submit(pause_of_a_busy_server, into / name.replace(" ", "-"), CASES[name]) for name in CASES}


@pytest.mark.parametrize("name", CASES)
def test_a_busy_server_is_left_alone_as_long_as_it_asked_whatever_the_clock_says(
    name: str, pauses: "dict[str, Future[float]]"
) -> None:
    assert WAIT_S <= pauses[name].result() < CASES[name].most_s
