"""`kill -9` at any instant, then `whimbrel resume`: nothing is lost, nothing is twice."""

import shutil
import signal
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pytest

from tests.fault.crawl import (
    NOT_ARMED,
    Result,
    assert_readable,
    assert_whole,
    await_that,
    commit_number,
    crawl_command,
    ended,
    faulty,
    result,
    resume_command,
    started,
)
from tests.sim.crawl import crawled
from tests.sim.web import Served, serve
from whimbrel.commit.crash import POINTS

ROTATING = {"journal.every_s": 0.05, "journal.segment_bytes": 30_000, "journal.tail_bytes": 20_000}
"""Commits, segments and conversions follow each other so fast that kills fall between them."""
AT = {"segment-ended": 1, "indexed": 1, "facts-finished": 1, "recovery-cut": 1, "recovery-published": 1}
"""Which time a point is reached; those within a commit the fifth time, when files are there to be cut."""


class Crashed(NamedTuple):
    down: Path
    """A copy of the crawl as it was found after the crash."""
    resumed: Path
    exit_codes: list[int]


def crash(served: Served, point: str, into: Path) -> Crashed:
    """A crawl that dies at a point and is resumed; at a point of recovery, the resume dies and is resumed."""
    crawl, log = into / point, into / f"{point}.log"
    armed = f"{point}:{AT.get(point, 5)}"
    early = "rotated:5" if point.startswith("recovery") else armed
    codes = [ended(crawl_command(served, crawl, "5ms", **{**ROTATING, "journal.crash_at": early}), log)]
    if early != armed:
        codes.append(ended(resume_command(crawl, f"journal.crash_at={armed}"), log))
    down = into / f"{point}-down"
    shutil.copytree(crawl, down)
    codes.append(ended(resume_command(crawl), log))
    return Crashed(down, crawl, codes)


@pytest.fixture(scope="module")
def crashes(small: Served, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, "Future[Crashed]"]]:
    """Begun all together: most of the time goes into starting processes, and there are several processors."""
    into = tmp_path_factory.mktemp("crashes")
    with ThreadPoolExecutor(4) as pool:
        yield {point: pool.submit(crash, small, point, into) for point in POINTS}


@pytest.mark.parametrize("point", POINTS)
def test_a_crawl_killed_at_a_crash_point_ends_as_if_it_had_not_been(
    point: str, crashes: "dict[str, Future[Crashed]]", small: Served, small_result: Result
) -> None:
    crashed = crashes[point].result()
    killed = [-signal.SIGKILL] * (2 if point.startswith("recovery") else 1)
    assert crashed.exit_codes == [*killed, 0]
    assert assert_readable(crashed.down).number > 0
    assert_whole(crashed.resumed, small_result, small)


def test_the_first_commit_may_be_the_last(small: Served, small_result: Result, tmp_path: Path) -> None:
    """Killed before anything was durable, a crawl begins anew."""
    crawl, log = tmp_path / "crawl", tmp_path / "log"
    assert ended(crawl_command(small, crawl, **{"journal.crash_at": "facts-synced:1"}), log) == -signal.SIGKILL
    assert commit_number(crawl) == 0
    assert ended(resume_command(crawl), log) == 0
    assert_whole(crawl, small_result, small)


def killed_often(served: Served, into: Path, kills: int, settings: dict[str, Any], delay: str = "0s") -> int:
    """Crawl, and kill it again and again: mostly after some commits, sometimes while it starts. How often it was."""
    crawl, log, random = into / "crawl", into / "log", Random(1)  # noqa: S311
    command = crawl_command(served, crawl, delay, **settings)
    for done in range(kills):
        before, more = commit_number(crawl), random.randint(2, 5)
        with started(command, log) as process:
            if done % 6 == 5:
                wait_s = random.uniform(0.2, 1.0)
            elif await_that(lambda: commit_number(crawl) >= before + more, process):  # noqa: B023
                wait_s = random.uniform(0.0, 0.1)
            else:
                assert process.wait() == 0
                return done
            time.sleep(wait_s)
            process.kill()
            process.wait()
        if commit_number(crawl):
            assert_readable(crawl)
        command = resume_command(crawl)
    assert ended(command, log, timeout_s=600) == 0
    return kills


def test_a_crawl_killed_at_random_moments_ends_as_if_it_had_not_been(
    medium: Served, medium_result: Result, tmp_path: Path
) -> None:
    settings = {**ROTATING, "journal.segment_bytes": 200_000, "journal.tail_bytes": 100_000}
    assert killed_often(medium, tmp_path, 6, settings) == 6
    assert_whole(tmp_path / "crawl", medium_result, medium)


@pytest.mark.long
def test_fifty_kills_of_twenty_thousand_pages_leave_no_trace(tmp_path: Path) -> None:
    with serve(faulty(130, 160), tmp_path / "web") as served:
        crawled(served, tmp_path / "reference")
        whole = result(tmp_path / "reference")
        assert len(whole.outcomes) > 20_000
        settings = {"journal.every_s": 0.05, "journal.segment_bytes": 2_000_000, "journal.tail_bytes": 1_000_000}
        # With the delay 870 pages a second at most, so that it does not end before the last kill.
        assert killed_often(served, tmp_path, 50, settings, "150ms") == 50
        assert_whole(tmp_path / "crawl", whole, served)


def test_a_resume_says_where_not_to_crash(small: Served, tmp_path: Path) -> None:
    """What these tests rest on: the crawl's job file keeps the crash point."""
    crawl, log = tmp_path / "crawl", tmp_path / "log"
    ended(crawl_command(small, crawl, **{"journal.crash_at": "begun"}), log)
    assert NOT_ARMED in resume_command(crawl)
    assert 'crash_at = "begun"' in (crawl / "job.toml").read_text()
