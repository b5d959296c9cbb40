"""What a crawl says of its pace: one reason at a time, and a time to go that knows its limits."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import pytest

from tests.cli.command import run
from tests.control.rig import RunningCrawl, started
from tests.job.site import Answer, page, served
from tests.sim.web import Served
from whimbrel.cli.display import one_line
from whimbrel.job.progress import Progress

MANY: dict[str, Answer] = {"/": page(*(f"/{number}" for number in range(400)))}
MANY |= {f"/{number}": page("/") for number in range(400)}


@contextmanager
def crawl_of(pages: Mapping[str, Answer], folder: Path, *more: str) -> Iterator[RunningCrawl]:
    directory = folder / "crawl"
    with served(pages) as port:
        command = ["crawl", f"http://127.0.0.1:{port}/", "--into", str(directory), *more]
        with started([sys.executable, "-m", "whimbrel", *command], cast("Served", None), directory) as crawl:
            yield crawl


def codes(now: Mapping[str, Any]) -> list[str]:
    return [warning["code"] for warning in now["warnings"]]


@pytest.mark.parametrize(
    ("limit", "most_s"),
    [(("--max-pages", "20"), 20.0), (("--max-time", "25s"), 25.0), (("--max-bytes", "20kB"), 30.0)],
)
def test_the_time_to_go_knows_the_limit_that_ends_the_crawl(
    tmp_path: Path, limit: tuple[str, str], most_s: float
) -> None:
    with crawl_of(MANY, tmp_path, "--delay", "0.5s", *limit) as crawl:
        now = crawl.until(lambda now: now["progress"]["visited"] >= 4, "four visits")["progress"]
        assert now["queued"] > 390
        assert now["left_by"].startswith(limit[0]), now
        assert 0 < now["left_s"] <= most_s, now
        said = run("control", str(crawl.directory), "status").words
        assert f"to go, then {limit[0]} " in said


def test_without_a_limit_the_queue_says_the_least_that_is_to_go(tmp_path: Path) -> None:
    with crawl_of(MANY, tmp_path, "--delay", "0.5s") as crawl:
        now = crawl.until(lambda now: now["progress"]["visited"] >= 4, "four visits")["progress"]
        assert (now["left_by"], now["left_s"] > 150) == ("", True)
        assert "at least" in run("control", str(crawl.directory), "status").words


def test_where_each_host_has_a_limit_the_queue_says_nothing_of_the_end(tmp_path: Path) -> None:
    with crawl_of(MANY, tmp_path, "--delay", "0.5s", "--max-pages-per-host", "30") as crawl:
        now = crawl.until(lambda now: now["progress"]["visited"] >= 4, "four visits")["progress"]
        assert now["left_s"] is None


def test_while_only_a_second_try_is_waited_for_that_is_the_reason(tmp_path: Path) -> None:
    pages = {"/": page("/broken", "/a"), "/a": page(), "/broken": (500, {}, "broken")}
    with crawl_of(pages, tmp_path, "--delay", "0s", "--set", "effects.retry_s=40") as crawl:
        now = crawl.until(lambda now: now["progress"]["outcomes"].get("retry") and now["progress"]["queued"] == 1, "it")
        now = crawl.until(lambda now: not now["progress"]["visiting"], "nothing is under way")
        progress = now["progress"]
        assert progress["bound"] == "retry"
        assert progress["bound_by"].startswith("a second try of a URL that failed, in ")
        assert codes(now) == ["retries-wait"]
        assert 20 < progress["left_s"] <= 45
        said = run("control", str(crawl.directory), "status").words
        assert "politeness" not in said
        assert "all hosts wait" not in said


def test_with_a_limit_on_speed_nothing_is_said_of_politeness(tmp_path: Path) -> None:
    with crawl_of(MANY, tmp_path, "--delay", "0.2s", "--max-pages-per-s", "0.4") as crawl:
        now = crawl.until(lambda now: now["progress"]["visited"] >= 2, "two visits")
        for _ in range(8):
            now = crawl.until(lambda now: not now["progress"]["visiting"], "nothing is under way")
            assert now["progress"]["bound_by"] == "the limit on speed (--max-pages-per-s, --max-rate)", now
            assert codes(now) == []


def test_politeness_is_told_in_the_same_words_twice(tmp_path: Path) -> None:
    with crawl_of(MANY, tmp_path, "--delay", "5s") as crawl:
        waits = crawl.until(lambda now: "all-hosts-wait" in codes(now), "all hosts wait")
        assert waits["progress"]["bound"] == "politeness"
        assert waits["progress"]["bound_by"].startswith("politeness: the next host is due in ")


def test_the_time_to_go_is_in_words() -> None:
    shown = one_line(Progress(queued=9, left_s=50.2, left_by="--max-pages 20"))
    assert shown.endswith("; about 50 s to go, then --max-pages 20 ends it")
    assert one_line(Progress(queued=9, left_s=50.2)).endswith("; at least 50 s to go")
