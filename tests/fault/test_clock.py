"""Somebody sets the machine's clock while a crawl runs, or between two runs. Judged from the server's log.

The clock that is set is the child's own: `time.time` in a process of the test's.
"""

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.fault.crawl import rows
from tests.fault.local_server import BodyServer, body_server

DAY_S = 86_400.0
STEPPED = """
import sys, time
real, began, after_s, step_s = time.time, time.monotonic(), float(sys.argv[1]), float(sys.argv[2])
time.time = lambda: real() + (step_s if time.monotonic() - began >= after_s else 0.0)
sys.argv = ["whimbrel", *sys.argv[3:]]
from whimbrel.cli.app import main
main()
"""
HOSTS = 4


def run(step_s: float, *command: str, after_s: float = 0.0) -> int:
    return subprocess.run(
        [sys.executable, "-c", STEPPED, str(after_s), str(step_s), *command], check=False, timeout=60
    ).returncode


def crawl_of(server: BodyServer, into: Path, *more: str) -> list[str]:
    seeds = [
        f"http://127.0.1.{number}:{server.port}/{size}" for number in range(1, HOSTS + 1) for size in (1_000, 2_000)
    ]
    return [
        *("crawl", *seeds, "--scope", "page", "--into", str(into), "--json", "--contact", "a@b.example"),
        *("--allow-network", "127.0.0.0/8", *more),
    ]


def robots_per_host(server: BodyServer) -> Counter[str]:
    return Counter(asked.host for asked in server.log if asked.path == "/robots.txt")


@pytest.mark.parametrize("step_s", [-2 * DAY_S, -3_600.0, 2 * DAY_S])
def test_a_clock_that_is_set_during_a_crawl_changes_nothing(tmp_path: Path, step_s: float) -> None:
    """The first visits are over when it is set, the second ones and half of the hosts are not."""
    with body_server() as server:
        assert run(step_s, *crawl_of(server, tmp_path / "crawl"), after_s=1.5) == 0
        assert set(robots_per_host(server).values()) == {1}
        assert len(server.log) == 3 * HOSTS
    found = rows(tmp_path / "crawl", "select outcome, epoch(started_at) as at from fetches")
    assert {row["outcome"] for row in found} == {"stored"}
    assert max(row["at"] for row in found) - min(row["at"] for row in found) < 60


@pytest.mark.parametrize("step_s", [-2 * DAY_S, -3_600.0])
def test_a_clock_that_is_set_back_between_two_runs_does_not_hold_the_crawl_up(tmp_path: Path, step_s: float) -> None:
    into = tmp_path / "crawl"
    with body_server() as server:
        assert run(0.0, *crawl_of(server, into, "--max-pages", str(HOSTS))) == 0
        assert run(step_s, "resume", str(into), "--json", "--set", "max_pages=1000") == 0
        assert len([asked for asked in server.log if asked.path != "/robots.txt"]) == 2 * HOSTS
        assert set(robots_per_host(server).values()) == {1}
