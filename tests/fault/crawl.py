"""Crawls that are interrupted, and what must be true of them afterwards.

Reading commands run inside the test's process (they are the same functions, without the second it takes to start
Python); crawls run in processes of their own, so that they can be killed.
"""

import json
import subprocess
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import msgspec
from typer.testing import CliRunner
from warcio.archiveiterator import ArchiveIterator
from warcio.checker import Checker

from tests.sim.crawl import options
from tests.sim.web import Served
from whimbrel.bench.exact import differences
from whimbrel.cli.app import application
from whimbrel.commit.committed import Committed, NotACrawl, read_committed
from whimbrel.simweb.spec import WebSpec

_EXHIBITS = {
    **dict.fromkeys(("redirect-301", "redirect-chain", "redirect-host", "redirect-loop"), 0.02),
    **dict.fromkeys(("status-404", "status-410", "status-500", "recovers-1", "recovers-2", "missing"), 0.02),
    **dict.fromkeys(("copy", "near", "alias", "chunk-broken", "coding-wrong", "truncated"), 0.02),
    "reset": 0.01,
}
_ROBOTS = ("rules", "deny-all", "missing-404", "forbidden-403", "recovers", "wildcard", "redirect-1", "sitemap")
NOT_ARMED = "journal.crash_at="
"""A crawl's own job file says where to crash, so a resume has to say otherwise."""


def faulty(hosts: int, pages: int, **more: Any) -> WebSpec:
    """A web with redirects, errors, duplicates and mirrors, but nothing that takes long."""
    return WebSpec(
        seed=5,
        hosts=hosts,
        pages=pages,
        page_bytes=3_000,
        links=15,
        exhibits=_EXHIBITS,
        robots=dict.fromkeys(_ROBOTS, 0.08),
        mirrors=0.2,
        trouble={"dns-nxdomain": 0.05, "connect-refused": 0.05},
        **more,
    )


def crawl_command(served: Served, into: Path, delay: str = "0s", **settings: Any) -> list[str]:
    """With a delay even a small crawl takes many commits, and hardly any processor."""
    command = ["crawl", *served.running.seeds, "--into", str(into), "--json", *options(served, **settings)]
    return [*command, "--delay", delay]


def resume_command(directory: Path, *settings: str) -> list[str]:
    command = ["resume", str(directory), "--json"]
    for setting in (NOT_ARMED, *settings):
        command += ["--set", setting]
    return command


@contextmanager
def started(command: Sequence[str], log: Path, wrapper: Sequence[str] = ()) -> Iterator["subprocess.Popen[bytes]"]:
    """A `whimbrel` in a process of its own, which never outlives the block. All it says goes to `log`."""
    with (
        log.open("ab") as said,
        subprocess.Popen(
            [*wrapper, sys.executable, "-m", "whimbrel", *command], stdout=said, stderr=subprocess.STDOUT
        ) as process,
    ):
        try:
            yield process
        finally:
            process.kill()
            process.wait(20)


def ended(command: Sequence[str], log: Path, timeout_s: float = 120) -> int:
    """Run to the end; the exit code."""
    with started(command, log) as process:
        return process.wait(timeout_s)


def await_that(true: Callable[[], bool], process: "subprocess.Popen[bytes]", timeout_s: float = 60) -> bool:
    """Wait for something while a process lives; false when it ended first."""
    until_s = time.monotonic() + timeout_s
    while not true():
        if process.poll() is not None:
            return False
        assert time.monotonic() < until_s, "waited too long"
        time.sleep(0.002)
    return True


def commit_number(directory: Path) -> int:
    try:
        return read_committed(directory).number
    except NotACrawl:
        return 0


def asked(*command: str) -> str:
    """What a reading command prints; it must succeed."""
    done = CliRunner().invoke(application(), [*command])
    assert done.exit_code == 0, f"{command}: {done.output[-3000:]} {done.exception!r}"
    return done.stdout


def rows(directory: Path, sql: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(asked("query", str(directory), sql, "--format", "json"))
    return found


class Result(NamedTuple):
    """What a crawl found. Which of several equal payloads was stored is left to chance, so they are one class."""

    outcomes: frozenset[tuple[str, str, str]]
    """URL, outcome, reason; for pages that were kept URL, `kept`, digest."""
    stored: dict[str, int]
    """How often each payload was stored."""
    archived: frozenset[str]
    """URLs with a record in the archive."""


def result(directory: Path) -> Result:
    """Also asserts that nothing is there twice."""
    found = rows(
        directory,
        "select f.url, f.outcome, f.reason, p.digest from fetches f left join pages p using (url) "
        "where f.outcome <> 'retry'",
    )
    twice = [url for url, count in Counter(row["url"] for row in found).items() if count > 1]
    assert twice == []
    kept = [row for row in found if row["outcome"] in ("stored", "duplicate")]
    rest = [row for row in found if row["outcome"] not in ("stored", "duplicate")]
    return Result(
        frozenset(
            [(row["url"], "kept", row["digest"]) for row in kept]
            + [(row["url"], row["outcome"], row["reason"]) for row in rest]
        ),
        dict(Counter(row["digest"] for row in kept if row["outcome"] == "stored")),
        frozenset(archived(directory)),
    )


def archived(directory: Path) -> list[str]:
    """The URLs of all captures, each of which may occur once."""
    found: Counter[str] = Counter()
    for name in read_committed(directory).archive():
        with (directory / name).open("rb") as file:
            for record in ArchiveIterator(file):
                if record.rec_type in ("response", "revisit"):
                    found[record.rec_headers.get_header("WARC-Target-URI")] += 1
    assert [url for url, count in found.items() if count > 1] == []
    return list(found)


def assert_whole(directory: Path, reference: Result, served: Served) -> None:
    """A finished crawl is as if nothing had happened to it."""
    committed = read_committed(directory)
    assert committed.state == "done"
    found = result(directory)
    assert found.outcomes ^ reference.outcomes == frozenset()
    assert found == reference
    assert differences(directory, served.web, served.running.seeds) == []
    asked("verify", str(directory))
    segments = [directory / name for name in committed.archive()]
    assert Checker(SimpleNamespace(inputs=[*map(str, segments)], verbose=False)).process_all() == 0
    for segment in segments:
        assert segment.with_name(segment.name + ".cdxj").read_text() == _indexed(segment), segment
    present = {path.relative_to(directory).as_posix() for path in (directory / "facts").iterdir()}
    assert present == {*committed.facts(), *committed.parquet}
    assert committed.facts() == {}


def _indexed(segment: Path) -> str:
    """As `cdxj-indexer --sort` would write it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # surt, which it needs, warns when it is compiled for the first time
        indexer = import_module("cdxj_indexer.main").CDXJIndexer
    out = StringIO()
    indexer(out, [str(segment)], sort=True).process_all()
    return out.getvalue()


def assert_readable(directory: Path) -> Committed:
    """A crawl that is down shows its last commit, and nothing of what came after it."""
    committed = read_committed(directory)
    counters = committed.counters
    assert json.loads(asked("status", str(directory), "--json"))["counters"] == msgspec.to_builtins(counters)
    (count,) = rows(directory, "select count(*) as n from fetches")
    assert count["n"] == counters.visits + counters.outcomes.get("dropped", 0)
    (pages,) = rows(directory, "select count(*) as n from pages")
    assert pages["n"] == counters.outcomes.get("stored", 0) + counters.outcomes.get("duplicate", 0)
    asked("verify", str(directory))
    return committed
