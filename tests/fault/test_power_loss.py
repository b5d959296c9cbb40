"""The power fails at any moment of a crawl: whatever was committed is there, and `resume` does the rest.

Everything that the crawl's process does to its files is recorded by `strace`, RocksDB's part included. The first so
many operations are replayed as a failing machine would have left them, and the crawl is resumed from that.
"""

import shutil
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from typing import NamedTuple

import pytest

from tests.fault import strace
from tests.fault.crawl import Result, assert_whole, crawl_command, ended, resume_command, rows, started
from tests.fault.recording_disk import Entry, Keep, replay
from tests.sim.web import Served
from whimbrel.commit.committed import Committed

SETTINGS = {"journal.every_s": 0.05, "journal.segment_bytes": 30_000, "journal.tail_bytes": 20_000}


class Recorded(NamedTuple):
    log: list[Entry]
    directory: Path
    fetches: frozenset[tuple[str, str]]
    """URL and time of every row."""


def fetches(directory: Path) -> frozenset[tuple[str, str]]:
    return frozenset(
        (row["url"], str(row["at"])) for row in rows(directory, "select url, started_at as at from fetches")
    )


@pytest.fixture(scope="module")
def recorded(small: Served, tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    into = tmp_path_factory.mktemp("recorded")
    if refusal := why_not(into):
        pytest.skip(refusal)
    crawl, trace = into / "crawl", into / "trace"
    command = crawl_command(small, crawl, "5ms", **SETTINGS)
    with started(command, into / "log", strace.command(trace)) as process:
        assert process.wait(50) == 0, (into / "log").read_text()[-3000:]
    return Recorded(strace.read_log(trace, crawl), crawl, fetches(crawl))


def why_not(into: Path) -> str:
    """What keeps us from tracing; empty when nothing does."""
    if shutil.which("strace") is None:
        return "there is no strace on this machine"
    tried = subprocess.run([*strace.command(into / "try"), "true"], capture_output=True, text=True, check=False)
    return f"strace may not trace here: {tried.stderr}" if tried.returncode else ""


def test_the_record_of_a_crawl_is_complete(recorded: Recorded, tmp_path: Path) -> None:
    """Replayed without any loss it gives the very files of the crawl."""
    marks = replay(recorded.log, tmp_path, Keep.ALL)
    assert [mark.number for mark in marks] == [*range(1, len(marks) + 1)]
    assert len(marks) > 5
    found = {path.relative_to(recorded.directory) for path in recorded.directory.rglob("*")}
    assert {path.relative_to(tmp_path) for path in tmp_path.rglob("*")} == found
    for name in found:
        if (tmp_path / name).is_file():
            assert (tmp_path / name).read_bytes() == (recorded.directory / name).read_bytes(), name


def moments(log: Sequence[Entry], count: int, seed: int) -> list[tuple[int, Keep]]:
    """Half of them just before or after a sync or a new name, where promises begin; the others anywhere."""
    random = Random(seed)  # noqa: S311
    edges = [at for at, entry in enumerate(log) if entry.kind in ("sync", "sync-names", "replace", "mark", "unlink")]
    keeps = [Keep.SYNCED, Keep.NAMES, Keep.SYNCED, Keep.TORN, Keep.ALL]
    found: set[tuple[int, Keep]] = set()
    while len(found) < count:
        at = random.choice(edges) + random.randint(0, 1) if len(found) % 2 else random.randint(1, len(log))
        found.add((at, keeps[len(found) % len(keeps)]))
    return sorted(found, key=lambda moment: moment[0])


def resumed(directory: Path) -> int:
    return ended(resume_command(directory), directory.with_suffix(".log"))


def check(recorded: Recorded, chosen: list[tuple[int, Keep]], into: Path, served: Served, whole: Result) -> None:
    directories = [into / f"{at}-{keep.name.lower()}" for at, keep in chosen]
    committed: list[Committed] = []
    for (at, keep), directory in zip(chosen, directories, strict=True):
        directory.mkdir()
        marks = replay(recorded.log[:at], directory, keep)
        committed.append(marks[-1] if marks else Committed())
    with ThreadPoolExecutor(4) as pool:
        codes = [*pool.map(resumed, directories)]
    for directory, last, code in zip(directories, committed, codes, strict=True):
        said = directory.with_suffix(".log").read_text()
        if not last.number and code == 2:
            # Nothing had been committed; the job itself was lost or torn, and the message says so.
            assert any(text in said for text in ("holds no crawl", "there is no seed", "job.toml: ")), said
            continue
        assert code == 0, f"{directory}: {said[-3000:]}"
        assert_whole(directory, whole, served)
        promised = last.counters.visits + last.counters.outcomes.get("dropped", 0)
        assert len(fetches(directory) & recorded.fetches) >= promised, directory
        shutil.rmtree(directory)


def test_what_was_committed_outlives_a_power_failure(
    recorded: Recorded, small: Served, small_result: Result, tmp_path: Path
) -> None:
    check(recorded, moments(recorded.log, 15, 1), tmp_path, small, small_result)


@pytest.mark.long
def test_what_was_committed_outlives_power_failures_at_hundreds_of_moments(
    recorded: Recorded, small: Served, small_result: Result, tmp_path: Path
) -> None:
    check(recorded, moments(recorded.log, 300, 2), tmp_path, small, small_result)
