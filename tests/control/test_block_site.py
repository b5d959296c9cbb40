"""A block hits what it names: one site, or a host on all its ports; and it can be lifted when no crawl runs."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import cast

import pytest

from tests.cli.command import run
from tests.control.rig import RunningCrawl, started
from tests.job.site import Answer, page, served
from tests.sim.web import Served
from whimbrel.control.api import Block, ControlError
from whimbrel.job.stored import stored_job
from whimbrel.query.backlog import backlog
from whimbrel.url import Url, parse
from whimbrel.url.block_list import BlockList

PAGES: dict[str, Answer] = {"/": page(*(f"/{number}" for number in range(400)))}
PAGES |= {f"/{number}": page("/") for number in range(400)}


@contextmanager
def two_sites(folder: Path, *more: str) -> Iterator[tuple[RunningCrawl, str, str]]:
    """A crawl of two sites that differ in their ports alone, with a queue on both."""
    with served(PAGES) as one, served(PAGES) as other:
        sites = (f"http://127.0.0.1:{one}", f"http://127.0.0.1:{other}")
        directory = folder / "crawl"
        base = ["crawl", *(f"{site}/" for site in sites), "--into", str(directory), "--delay", "0.1s", *more]
        command = [sys.executable, "-m", "whimbrel", *base]
        with started(command, cast("Served", None), directory) as crawl:
            crawl.until(lambda now: now["progress"]["queued"] > 700 and now["commit"], "a queue on both sites")
            yield crawl, *sites


def queues(crawl: RunningCrawl) -> dict[str, int]:
    return {view.site: view.queued for view in crawl.control.hosts()}


def url(text: str) -> Url:
    found = parse(text)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("blocked", "held", "free"),
    [
        ("a.test", ["http://a.test/", "https://www.a.test:8443/"], ["http://ba.test/"]),
        ("a.test:80", ["http://a.test/", "http://A.test.:80/x"], ["https://a.test/", "http://www.a.test/"]),
        ("a.test:8822", ["http://a.test:8822/", "https://a.test:8822/"], ["http://a.test:8823/"]),
        ("http://a.test", ["http://a.test/"], ["https://a.test/", "http://a.test:8080/", "http://www.a.test/"]),
        ("http://a.test:8822", ["http://a.test:8822/"], ["https://a.test:8822/", "http://a.test/"]),
        ("[::1]:8822", ["http://[0::1]:8822/"], ["http://[::1]/"]),
        ("[::1]", ["http://[::1]:8822/", "http://[::1]/"], ["http://[::2]/"]),
        ("127.0.0.1:8822", ["http://127.0.0.1:8822/", "http://0x7f000001:8822/"], ["http://127.0.0.1:8823/"]),
    ],
)
def test_a_block_holds_what_it_names_and_nothing_else(blocked: str, held: list[str], free: list[str]) -> None:
    names = BlockList([blocked])
    assert [one for one in held if not names.holds(url(one))] == []
    assert [one for one in free if names.holds(url(one))] == []


@pytest.mark.parametrize("wrong", ["a.test:0", "a.test:70000", "a.test:port", "a b", "me@a.test:80", "ftp://a.test"])
def test_what_names_neither_a_host_nor_a_site_is_refused(wrong: str) -> None:
    with pytest.raises(ValueError, match="cannot block"):
        BlockList([wrong])


def test_a_site_is_blocked_by_its_port_while_the_other_goes_on(tmp_path: Path) -> None:
    with two_sites(tmp_path) as (crawl, one, other):
        name = one.partition("//")[2]
        done = run("control", str(crawl.directory), "block", name)
        assert done.code == 0, done.words
        before = queues(crawl)
        assert f"no more requests to {name}; {before[one]:,} queued URLs wait" in done.words
        assert "the crawl ends" not in done.words
        crawl.until(lambda _: queues(crawl)[other] < before[other] - 5, "the other site goes on")
        assert queues(crawl)[one] == before[one]
        done = run("control", str(crawl.directory), "block", "127.0.0.1")
        assert "nothing else is queued: the crawl ends" in done.words
        out, err = crawl.process.communicate(timeout=60)
    assert crawl.process.returncode == 3
    assert "waiting for their turn" not in out + err
    assert f"blocked ({name}, 127.0.0.1)" in " ".join(out.split())
    assert f"whimbrel control {crawl.directory} unblock {name} 127.0.0.1" in " ".join(out.split())


def test_a_block_is_lifted_and_laid_when_no_crawl_runs(tmp_path: Path) -> None:
    with two_sites(tmp_path) as (crawl, one, other):
        crawl.control.carry_out(Block((one, other)))
        crawl.process.communicate(timeout=60)
    directory = str(crawl.directory)
    assert "--max-pages" not in run("resume", directory).words, "it ends at once: both are blocked"
    done = run("control", directory, "unblock", "127.0.0.1")
    assert (done.code, f"'127.0.0.1' is not blocked; blocked are: {one}, {other}" in done.words) == (1, True)
    done = run("control", directory, "unblock", one)
    assert done.code == 0, done.words
    assert f"To go on: whimbrel resume {directory}" in done.words
    assert stored_job(crawl.directory).options.block == (other,)
    done = run("control", directory, "block", "never.test")
    assert done.code == 0, done.words
    assert stored_job(crawl.directory).options.block == (other, "never.test")
    with pytest.raises(ControlError, match="no crawl runs"):
        crawl.control.unblock(other)


def test_no_job_is_changed_where_there_is_none_or_a_crawl_runs_that_cannot_be_reached(tmp_path: Path) -> None:
    assert run("control", str(tmp_path / "nothing"), "unblock", "a.test").code == 2
    assert run("control", str(tmp_path), "unblock", "a.test").code == 2
    with two_sites(tmp_path) as (crawl, one, _):
        (crawl.directory / "control.json").rename(crawl.directory / "elsewhere.json")
        done = run("control", str(crawl.directory), "block", one)
        (crawl.directory / "elsewhere.json").rename(crawl.directory / "control.json")
        assert (done.code, "works on" in done.words) == (2, True), done.words
        assert stored_job(crawl.directory).options.block == ()


def test_the_backlog_tells_blocked_hosts_from_those_that_wait(tmp_path: Path) -> None:
    with two_sites(tmp_path) as (crawl, one, _):
        crawl.control.block(one)
        crawl.control.stop()
        crawl.process.communicate(timeout=60)
    lines = backlog(crawl.directory, (one,))
    # The longer one comes first, and which that is depends on how far the crawl came.
    assert sorted(line.partition(": ")[2].partition(" ")[0] for line in lines) == ["blocked", "waiting"]
