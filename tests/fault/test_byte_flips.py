"""`verify` finds every byte whose change makes an answer another one; the others are counted by kind of file."""

import signal
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from tests.cli.command import run
from tests.fault.byte_flip import Trial, flips, table
from tests.fault.crawl import ended
from tests.job.site import moved, page, served

HANDLERS = """
import whimbrel as w

class Headline(w.Item, key="url"):
    url: str
    words: int

@w.handler(mime="text/html")
def headline(page):
    yield Headline(page.url, len(page.text.split()))
"""
PAGES = {
    "/robots.txt": (200, {"Content-Type": "text/plain"}, "User-agent: *\nDisallow: /no\n"),
    "/": page(*(f"/{number}" for number in range(12)), "/no", "/moved", "/same", title="home"),
    **{f"/{number}": page("/", f"/{number}/more", title=f"page {number} " + "words " * 50) for number in range(12)},
    "/moved": moved("/1"),
    "/same": page("/", "/3/more", title="page 3 " + "words " * 50),
}
KILLED = ("published:4", "state-written:5", "facts-appended:5", "rotated:6")
"""Where a crawl dies: tails, an open segment, logs of the database, and more than was committed are left."""


@pytest.fixture(scope="module")
def site() -> Iterator[int]:
    with served(PAGES) as port:
        yield port


def _crawled(port: int, into: Path, crash_at: str) -> Path:
    """A crawl with items, of several segments, tails and Parquet files, that ends or is killed."""
    into.mkdir()
    (into / "handlers.py").write_text(HANDLERS)
    command = ["crawl", f"http://127.0.0.1:{port}/", "--into", str(into / "crawl"), "--delay", "5ms", "--json"]
    command += ["--allow-network", "127.0.0.0/8", "--with", str(into / "handlers.py"), "--connections", "2"]
    tail_bytes = 12_000 if crash_at else 400_000
    settings = ("every_s=0.03", "segment_bytes=6000", f"tail_bytes={tail_bytes}", "reserve_bytes=1000")
    for setting in (*settings, f"crash_at={crash_at}"):
        command += ["--set", f"journal.{setting}"]
    assert ended(command, into / "log") == (-signal.SIGKILL if crash_at else 0), (into / "log").read_text()
    return into / "crawl"


def _tried(crawl: Path, most: int, *, whole: bool) -> Trial:
    trial = Trial(crawl)
    trial.run(flips(crawl, Random(5), most, whole=whole))  # noqa: S311
    return trial


@pytest.mark.parametrize("crash_at", ["", KILLED[0]], ids=["done", "killed"])
def test_verify_finds_every_changed_byte_that_matters(site: int, tmp_path: Path, crash_at: str) -> None:
    trial = _tried(_crawled(site, tmp_path / "a", crash_at), 150, whole=False)
    print(table({crash_at or "done": trial}))  # noqa: T201 - what the test is run for, with -s
    assert trial.failures == []


@pytest.mark.long
@pytest.mark.timeout(7200)
def test_verify_finds_every_changed_byte_of_small_crawls(site: int, tmp_path: Path) -> None:
    trials = {}
    for number, crash_at in enumerate(("", *KILLED)):
        crawl = _crawled(site, tmp_path / str(number), crash_at)
        trials[crash_at or "done"] = _tried(crawl, 2_500, whole=number < 2)
    print(table(trials))  # noqa: T201 - what the test is run for, with -s
    assert {name: trial.failures for name, trial in trials.items() if trial.failures} == {}


def test_a_resume_refuses_a_state_whose_log_lost_a_published_commit_and_changes_nothing(
    site: int, tmp_path: Path
) -> None:
    """RocksDB itself would go on from the commit before the damage, and drop what is behind it for good."""
    crawl = _crawled(site, tmp_path / "a", KILLED[0])
    log = max((crawl / "state").glob("*.log"), key=lambda path: path.stat().st_size)
    data = bytearray(log.read_bytes())
    data[len(data) // 2] ^= 1
    log.write_bytes(data)
    before = _contents(crawl)
    for command in (["resume", str(crawl)], ["reparse", str(crawl), "--with", str(tmp_path / "a" / "handlers.py")]):
        told = run(*command)
        assert told.code == 1, told.words
        assert "state ends with commit" in told.words
        assert "Nothing was changed" in told.words
    assert _contents(crawl) == before
    assert f"state/{log.name} at" in run("verify", str(crawl)).words


def _contents(crawl: Path) -> dict[str, bytes]:
    """Of all files but the database's diary."""
    paths = (path for path in crawl.rglob("*") if path.is_file() and not path.name.startswith("LOG"))
    return {path.relative_to(crawl).as_posix(): path.read_bytes() for path in paths}
