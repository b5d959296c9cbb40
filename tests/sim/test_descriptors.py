"""Every connection is an open file. A system that allows few is asked for more, or the crawl says what to do: no host
is called unreachable because of us."""

import json
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from tests.control.rig import crawling
from tests.sim.crawl import options
from tests.sim.web import Served, serve
from whimbrel.control.api import Refused, Speed
from whimbrel.simweb.spec import WebSpec

MANY = WebSpec(hosts=250, pages=2, latency_ms=400, robots={}, exhibits={})


def crawled_under(limit: str, served: Served, into: Path) -> "subprocess.CompletedProcess[str]":
    crawl = [sys.executable, "-m", "whimbrel", "crawl", *served.running.seeds, "--into", str(into), "--json"]
    command = [*crawl, *options(served), "--connections", "250"]
    script = f'ulimit {limit}; exec "$@"'
    return subprocess.run(
        ["bash", "-c", script, "bash", *command], capture_output=True, text=True, timeout=200, check=False
    )


def test_a_low_limit_on_open_files_is_raised_where_that_is_allowed_and_else_said(tmp_path: Path) -> None:
    with serve(MANY, tmp_path / "web") as served:
        done = crawled_under("-S -n 150", served, tmp_path / "raised")
        assert done.returncode == 0, done.stderr[-2000:]
        outcomes = json.loads(done.stdout)["outcomes"]
        assert outcomes.keys() == {"stored"}
        assert outcomes["stored"] > 480
        done = crawled_under("-n 500", served, tmp_path / "low")
        assert done.returncode == 2
        assert "so many connections need 1,018 open files, and this system allows a process 500" in done.stderr
        assert "ulimit -n 1018" in done.stderr
        assert not (tmp_path / "low").exists()


def test_more_connections_than_files_are_refused_while_it_runs(tmp_path: Path) -> None:
    spec = WebSpec(hosts=20, pages=200, latency_ms=20, robots={}, exhibits={})
    with crawling(spec, tmp_path) as crawl:
        resource.prlimit(crawl.process.pid, resource.RLIMIT_NOFILE, (1_100, 1_500))
        with pytest.raises(Refused, match="need 6,506 open files, and this system allows a process 1,500"):
            crawl.control.carry_out(Speed(connections=5_000))
        crawl.control.carry_out(Speed(connections=600))
        crawl.until(lambda now: now["progress"]["visited"] > 100, "it goes on")
        assert resource.prlimit(crawl.process.pid, resource.RLIMIT_NOFILE) == (1_368, 1_500)
