"""What `speed` and `set` leave in the events, and limits that the crawl is beyond already."""

import sys
from pathlib import Path
from typing import cast

import pytest

from tests.cli.command import run
from tests.control.rig import started
from tests.control.test_action import events
from tests.control.test_pace import MANY, crawl_of
from tests.job.site import served
from tests.sim.web import Served
from whimbrel.control.api import Refused, Set
from whimbrel.job.stored import stored_job


def test_events_hold_the_values_before_and_after(tmp_path: Path) -> None:
    with crawl_of(MANY, tmp_path, "--delay", "0.2s", "--max-depth", "7") as crawl:
        directory = str(crawl.directory)
        done = run("control", directory, "speed", "5", "--connections", "16")
        assert "max_pages_per_s: none -> 5.0" in done.words
        run("control", directory, "speed", "2.5", "--delay", "0.3s")
        run("control", directory, "speed", "--delay", "2s", "--of", "a.test")
        run("control", directory, "set", "max_depth=5", "router.max_segments=9", "order=depth", "parser.instances=2")
        run("control", directory, "checkpoint")
        details = [row["detail"] for row in events(crawl.directory) if row["action"] in ("speed", "set")]
    first, second, third, fourth = details
    assert first.startswith("max_pages_per_s: none -> 5.0, connections: 64 -> 16; reconfigured ")
    assert second.startswith("max_pages_per_s: 5.0 -> 2.5, delay: 0.2 -> 0.3; ")
    assert third.startswith('delays: {} -> {"a.test": 2.0}; ')
    assert fourth.startswith('max_depth: 7 -> 5, order: "breadth" -> "depth", router.max_segments: 20 -> 9')
    assert "parser.instances: 1 -> 2" in fourth


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("max_pages=3", "requests for pages were begun already"),
        ("frontier.max_pages=3", "requests for pages were begun already"),
        ("max_bytes=100", "bytes were received already"),
        ("max_time=1s", "s have passed already"),
    ],
)
def test_a_limit_that_is_reached_already_is_refused_and_the_crawl_goes_on(
    tmp_path: Path, setting: str, said: str
) -> None:
    with crawl_of(MANY, tmp_path, "--delay", "0.2s") as crawl:
        crawl.until(lambda now: now["progress"]["visited"] >= 8, "eight visits")
        done = run("control", str(crawl.directory), "set", setting)
        assert done.code == 1, done.words
        assert said in done.words
        assert "`whimbrel control DIR stop` ends it" in done.words
        crawl.until(lambda now: now["progress"]["visited"] >= 10, "it goes on")
        with pytest.raises(Refused, match="would end at once"):
            crawl.control.carry_out(Set({"max_pages": 2}))
        crawl.control.set({"max_pages": 300})
        crawl.control.set({"max_pages": None})


def test_what_resume_was_given_holds_for_its_run_and_an_action_writes_only_what_it_changes(tmp_path: Path) -> None:
    directory = tmp_path / "crawl"
    with served(MANY) as port:
        seed = f"http://127.0.0.1:{port}/"
        run("crawl", seed, "--into", str(directory), "--max-pages", "3", "--delay", "0s")
        more = ("--max-pages", "200", "--set", "delay=0.2", "--set", "router.max_segments=9")
        command = [sys.executable, "-m", "whimbrel", "resume", str(directory), *more]
        with started(command, cast("Served", None), directory) as crawl:
            crawl.control.speed(connections=7)
            now = crawl.control.config().options
            assert (now["max_pages"], now["delay"], now["connections"]) == (200, 0.2, 7)
            kept = stored_job(directory)
            assert (kept.options.max_pages, kept.options.delay, kept.options.connections) == (3, 0.0, 7)
            assert kept.options.set == {}
            crawl.control.set({"max_pages": 100})
            assert stored_job(directory).options.max_pages == 100
