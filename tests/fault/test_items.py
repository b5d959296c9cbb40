"""Items of handlers under `kill -9`: each exactly once, also those without a key."""

import time
from pathlib import Path
from random import Random
from typing import Any

import pytest

import whimbrel as w
from tests.fault.crawl import await_that, commit_number, crawl_command, ended, faulty, resume_command, started
from tests.fault.test_kill import ROTATING
from tests.sim.web import Served, serve

HANDLERS = """
import whimbrel as w

class Headline(w.Item, key="url"):
    url: str
    words: int

class Seen(w.Item):
    url: str

@w.handler(mime="text/html")
def headline(page):
    yield Headline(page.url, len(page.text.split()))
    yield Seen(page.url)
"""
ITEMS = ("SELECT * FROM headline ORDER BY ALL", "SELECT * FROM seen ORDER BY ALL")


def killed(served: Served, into: Path, file: Path, kills: int) -> None:
    crawl, log, random = into / "crawl", into / "log", Random(7)  # noqa: S311
    settings: dict[str, Any] = {**ROTATING, "journal.segment_bytes": 200_000, "journal.tail_bytes": 100_000}
    command = [*crawl_command(served, crawl, **settings), "--with", str(file)]
    for _ in range(kills):
        before, more = commit_number(crawl), random.randint(1, 3)
        with started(command, log) as process:
            if not await_that(lambda: commit_number(crawl) >= before + more, process):  # noqa: B023
                assert process.wait() == 0
                pytest.fail("the crawl ended before it was killed often enough")
            time.sleep(random.uniform(0.0, 0.05))
            process.kill()
            process.wait()
        command = resume_command(crawl)
    assert ended(command, log, timeout_s=600) == 0


def assert_same_items(served: Served, into: Path, kills: int) -> None:
    file = into / "handlers.py"
    file.write_text(HANDLERS)
    whole = [*crawl_command(served, into / "whole"), "--with", str(file)]
    assert ended(whole, into / "log", timeout_s=600) == 0
    killed(served, into, file, kills)
    expected, found = w.open(into / "whole"), w.open(into / "crawl")
    for sql in ITEMS:
        assert list(found.sql(sql)) == list(expected.sql(sql))
    pages = "SELECT count(*) FROM pages WHERE mime = 'text/html'"
    assert list(found.sql("SELECT count(*) FROM seen")) == list(found.sql(pages))
    assert list(found.sql("SELECT count(*) - count(DISTINCT url) FROM handled")) == [(0,)]


def test_items_are_there_once_after_a_kill(medium: Served, tmp_path: Path) -> None:
    assert_same_items(medium, tmp_path, 1)


@pytest.mark.long
def test_items_are_there_once_after_twenty_kills(tmp_path: Path) -> None:
    with serve(faulty(60, 100), tmp_path / "web") as served:
        assert_same_items(served, tmp_path, 20)
