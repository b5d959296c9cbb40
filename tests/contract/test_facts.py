"""One suite for every implementation of the facts, on real files.

How frames and Parquet are written is the business of `tests/facts`; here is what the committer relies on.
"""

import errno
import os
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pytest

from tests.archive.test_warc import SmallDisk
from tests.facts import sample
from whimbrel.durable_file import Disk
from whimbrel.facts.api import Facts, FactsDamaged
from whimbrel.facts.store import FactsConfig, ParquetFacts
from whimbrel.query.snapshot import Snapshot

Make = Callable[[Path, Disk], Facts]


def _parquet(tail_bytes: int) -> Make:
    return lambda directory, disk: ParquetFacts(directory, FactsConfig(tail_bytes=tail_bytes), disk)


IMPLEMENTATIONS: dict[str, Make] = {"parquet": _parquet(64_000_000), "parquet-rotating": _parquet(1)}


class Listed(NamedTuple):
    """What a commit lists."""

    number: int
    lengths: dict[str, int]
    parquet: list[str]


NOTHING = Listed(0, {}, [])


@pytest.fixture(params=IMPLEMENTATIONS)
def make(request: pytest.FixtureRequest) -> Make:
    return IMPLEMENTATIONS[request.param]


@pytest.fixture
def facts(make: Make, tmp_path: Path) -> Iterator[Facts]:
    facts = begun(make, tmp_path)
    yield facts
    facts.close()


def begun(make: Make, directory: Path, listed: Listed = NOTHING, disk: Disk | None = None) -> Facts:
    facts = make(directory, disk or Disk())
    facts.cut(*listed)
    return facts


def commit(facts: Facts, number: int, *, rotate: bool = True) -> Listed:
    facts.append(number, {"captures": [sample.capture(number)], "links": [sample.links(number)]})
    return listed_now(facts, number, rotate=rotate)


def listed_now(facts: Facts, number: int, *, rotate: bool = True) -> Listed:
    facts.sync()
    listed = Listed(number, facts.lengths(), facts.parquet())
    if rotate:
        facts.rotate()
    return listed


def pages(directory: Path, listed: Listed) -> list[int]:
    """Numbers of commits, as a reader sees them."""
    table = Snapshot(directory, listed.lengths, listed.parquet).tables()["captures"]
    found: list[int] = (table if isinstance(table, pa.Table) else table.to_table())["id"].to_pylist()
    return sorted(found)


def contents(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (directory / "facts").iterdir()}


def test_a_commit_shows_its_rows_and_those_before_it_and_no_others(facts: Facts, tmp_path: Path) -> None:
    listed = [commit(facts, number) for number in range(1, 8)]
    facts.append(8, {"captures": [sample.capture(8)]})
    assert pages(tmp_path, listed[-1]) == list(range(1, 8))


def test_lengths_are_those_of_the_files(facts: Facts, tmp_path: Path) -> None:
    assert (facts.lengths(), facts.parquet(), facts.digests()) == ({}, [], {})
    listed = commit(facts, 1, rotate=False)
    assert listed.lengths == {name: (tmp_path / name).stat().st_size for name in listed.lengths}
    assert listed.lengths


def test_a_commit_without_rows_writes_nothing(facts: Facts, tmp_path: Path) -> None:
    facts.append(1, {"captures": [], "links": []})
    assert listed_now(facts, 1) == Listed(1, {}, [])


def test_finish_leaves_parquet_only_with_its_digests(facts: Facts, tmp_path: Path) -> None:
    for number in range(1, 6):
        listed = commit(facts, number)
    while facts.finish():
        listed = listed_now(facts, listed.number + 1)
    assert (listed.lengths, facts.finish()) == ({}, False)
    assert pages(tmp_path, listed) == [1, 2, 3, 4, 5]
    assert sorted(f"facts/{name}" for name in contents(tmp_path)) == sorted(listed.parquet)
    assert facts.digests() == {
        name: "sha256:" + sha256((tmp_path / name).read_bytes()).hexdigest() for name in listed.parquet
    }


def test_a_cut_goes_back_and_the_same_commit_is_made_again(facts: Facts, tmp_path: Path) -> None:
    first = commit(facts, 1, rotate=False)
    commit(facts, 2, rotate=False)
    facts.cut(*first)
    assert (facts.lengths(), facts.parquet()) == (first.lengths, first.parquet)
    assert pages(tmp_path, first) == [1]
    assert pages(tmp_path, commit(facts, 2, rotate=False)) == [1, 2]


def test_another_process_cuts_and_goes_on(make: Make, tmp_path: Path) -> None:
    facts = begun(make, tmp_path)
    listed = [commit(facts, number) for number in range(1, 5)][-1]
    facts.append(5, {"captures": [sample.capture(5)]})
    facts.close()
    again = begun(make, tmp_path, listed)
    assert pages(tmp_path, listed) == [1, 2, 3, 4]
    assert pages(tmp_path, commit(again, 5)) == [1, 2, 3, 4, 5]
    again.close()


def test_a_cut_deletes_what_is_not_listed_and_leaves_what_is_not_ours(make: Make, tmp_path: Path) -> None:
    facts = begun(make, tmp_path)
    facts.append(1, {"captures": [sample.capture(1)]})
    facts.close()
    (tmp_path / "facts" / "notes.txt").touch()
    begun(make, tmp_path).close()
    assert list(contents(tmp_path)) == ["notes.txt"]


@pytest.mark.parametrize("damage", ["short", "missing", "older"])
def test_facts_that_are_not_what_the_commit_says_are_refused_and_nothing_is_changed(
    make: Make, tmp_path: Path, damage: str
) -> None:
    facts = begun(make, tmp_path)
    listed = [commit(facts, number, rotate=False) for number in (1, 2, 3)][-1]
    facts.close()
    (name,) = listed.lengths
    if damage == "short":
        os.truncate(tmp_path / name, listed.lengths[name] - 1)
    elif damage == "missing":
        (tmp_path / name).unlink()
    else:
        listed = NOTHING
    before = contents(tmp_path)
    with pytest.raises(FactsDamaged, match=Path(name).name):
        begun(make, tmp_path, listed)
    assert contents(tmp_path) == before


@pytest.mark.parametrize("room", [0, 1, 31, 32, 33, 500, 2_000])
def test_a_disk_that_is_full_is_an_os_error_and_a_second_try_is_whole(make: Make, tmp_path: Path, room: int) -> None:
    disk = SmallDisk(1_000_000)
    facts = begun(make, tmp_path, disk=disk)
    first = commit(facts, 1, rotate=False)
    disk.room = room
    with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)):
        commit(facts, 2, rotate=False)
    facts.cut(*first)
    disk.room = 1_000_000
    assert pages(tmp_path, commit(facts, 2, rotate=False)) == [1, 2]
    facts.close()


def test_close_may_be_called_again_and_a_cut_opens_once_more(facts: Facts, tmp_path: Path) -> None:
    facts.close()
    facts.cut(*NOTHING)
    listed = commit(facts, 1)
    facts.close()
    facts.close()
    facts.cut(*listed)
    assert pages(tmp_path, commit(facts, 2)) == [1, 2]
