"""Tails, rotation and Parquet, on real files."""

import errno
import os
from hashlib import sha256
from pathlib import Path
from threading import Event

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.facts import sample
from tests.facts.crawl import NOTHING, Published, commit, commit_nothing, expected, files, open_facts, shown, wait
from whimbrel.durable_file import Disk, DiskFile
from whimbrel.facts.api import Facts, FactsDamaged
from whimbrel.facts.parquet import convert, row_count_problem, rows_by_commit
from whimbrel.facts.store import ParquetFacts


def test_the_store_fulfils_the_contract(tmp_path: Path) -> None:
    facts: Facts = open_facts(tmp_path)
    assert (facts.lengths(), facts.parquet(), facts.rotate()) == ({}, [], False)


def test_committed_rows_are_shown_and_others_are_not(tmp_path: Path) -> None:
    facts = open_facts(tmp_path, tail_bytes=10**9)
    published = [commit(facts, number) for number in (1, 2, 3)]
    facts.append(4, {"captures": [sample.capture(4)]})
    facts.close()
    assert [shown(tmp_path, each) for each in published] == [expected(number) for number in (1, 2, 3)]


def test_a_commit_without_rows_writes_nothing(tmp_path: Path) -> None:
    facts = open_facts(tmp_path)
    facts.append(1, {"captures": [], "links": []})
    assert commit_nothing(facts, 1) == Published(1, {}, [])


def test_a_long_tail_becomes_parquet_and_goes_one_rotation_later(tmp_path: Path) -> None:
    facts = open_facts(tmp_path)
    first = commit(facts, 1)
    assert facts.rotate()
    assert (facts.lengths(), facts.parquet()) == (first.lengths, [])
    wait(facts)
    second = commit(facts, 2)
    assert list(second.lengths) == ["facts/tail-1", "facts/tail-2"]
    assert facts.rotate()
    third = commit(facts, 3)
    assert list(third.lengths) == ["facts/tail-2", "facts/tail-3"]
    assert sorted(third.parquet) == ["facts/captures-1.parquet", "facts/hosts-1.parquet", "facts/links-1.parquet"]
    for each in (first, second, third):
        assert shown(tmp_path, each) == expected(each.number)
    wait(facts)
    assert facts.rotate()
    fourth = commit(facts, 4)
    assert "tail-1" not in files(tmp_path)
    assert "tail-2" in files(tmp_path)
    assert shown(tmp_path, third) == expected(3)
    assert shown(tmp_path, fourth) == expected(4)
    facts.close()


def test_a_replaced_tail_stays_until_a_commit_could_have_listed_its_parquet(tmp_path: Path) -> None:
    facts = open_facts(tmp_path)
    published = commit(facts, 1)
    for _ in range(6):
        facts.rotate()
        wait(facts)
    facts.close()
    assert shown(tmp_path, published) == expected(1)


def test_finish_leaves_nothing_but_parquet(tmp_path: Path) -> None:
    facts = open_facts(tmp_path, tail_bytes=10**9)
    last = commit(facts, 1)
    while facts.finish():
        last = commit_nothing(facts, last.number + 1)
        assert shown(tmp_path, last) == expected(1)
    assert files(tmp_path) == ["captures-1.parquet", "hosts-1.parquet", "links-1.parquet"]
    assert not last.lengths
    again = commit(open_facts(tmp_path, last), last.number + 1)
    assert list(again.lengths) == ["facts/tail-2"]


def test_cut_removes_what_the_last_commit_did_not_list(tmp_path: Path) -> None:
    facts = open_facts(tmp_path)
    first = commit(facts, 1)
    facts.rotate()
    wait(facts)
    facts.rotate()
    facts.append(2, {"captures": [sample.capture(2)]})
    (tmp_path / "facts" / "mine.txt").write_text("somebody's")
    facts.cut(*first)
    assert files(tmp_path) == ["mine.txt", "tail-1"]
    assert commit(facts, 2).lengths["facts/tail-1"] > first.lengths["facts/tail-1"]
    facts.close()
    assert shown(tmp_path, first) == expected(1)


def test_a_surplus_of_the_next_commit_is_cut_and_its_place_used_again(tmp_path: Path) -> None:
    facts = open_facts(tmp_path, tail_bytes=10**9)
    first, second = commit(facts, 1), commit(facts, 2)
    facts.close()
    again = open_facts(tmp_path, first, tail_bytes=10**9)
    assert commit(again, 2) == second
    again.close()
    assert shown(tmp_path, second) == expected(2)


def test_every_torn_surplus_is_cut(tmp_path: Path) -> None:
    facts = open_facts(tmp_path, tail_bytes=10**9)
    first = commit(facts, 1)
    commit(facts, 2)
    facts.close()
    path = tmp_path / "facts" / "tail-1"
    whole, length = path.read_bytes(), first.lengths["facts/tail-1"]
    for end in range(length, len(whole), 41):
        path.write_bytes(whole[:end])
        open_facts(tmp_path, first).close()
        assert path.read_bytes() == whole[:length]


def _longer(directory: Path, published: Published) -> Published:
    return published._replace(lengths={"facts/tail-1": published.lengths["facts/tail-1"] + 1})


def _missing(directory: Path, published: Published) -> Published:
    (directory / "facts" / "tail-1").unlink()
    return published


def _inside_a_frame(directory: Path, published: Published) -> Published:
    return published._replace(lengths={"facts/tail-1": published.lengths["facts/tail-1"] - 1})


def _older_state(directory: Path, published: Published) -> Published:
    return Published(1, {}, [])


def _no_parquet(directory: Path, published: Published) -> Published:
    return published._replace(parquet=["facts/captures-9.parquet"])


def _half_a_parquet(directory: Path, published: Published) -> Published:
    (directory / "facts" / "captures-9.parquet").write_bytes(b"PAR1" + bytes(20))
    return _no_parquet(directory, published)


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (_longer, r"tail-1 has [\d,]+ bytes, commit 3 lists"),
        (_missing, "facts/tail-1 is missing"),
        (_inside_a_frame, "tail-1 is damaged at byte"),
        (_older_state, "holds commit 3, but the state knows only 1"),
        (_no_parquet, "captures-9.parquet is missing"),
        (_half_a_parquet, "not a whole Parquet file"),
    ],
)
def test_facts_that_are_not_what_the_commit_says_are_refused_and_left_alone(tmp_path: Path, damage, said: str) -> None:  # type: ignore[no-untyped-def]
    facts = open_facts(tmp_path, tail_bytes=10**9)
    published = damage(tmp_path, [commit(facts, number) for number in (1, 2, 3)][-1])
    facts.close()
    before = {name: (tmp_path / "facts" / name).read_bytes() for name in files(tmp_path)}
    with pytest.raises(FactsDamaged, match=said):
        open_facts(tmp_path, published)
    assert {name: (tmp_path / "facts" / name).read_bytes() for name in files(tmp_path)} == before


def test_parquet_newer_than_the_state_is_never_deleted(tmp_path: Path) -> None:
    facts = open_facts(tmp_path, tail_bytes=10**9)
    for number in (1, 2, 3):
        commit(facts, number)
    while facts.finish():
        commit_nothing(facts, 4)
    with pytest.raises(FactsDamaged, match="the state is older than the facts"):
        open_facts(tmp_path, NOTHING)
    assert len(files(tmp_path)) == 3


class _FullDisk(Disk):
    """Refuses to make Parquet while it is full."""

    def __init__(self) -> None:
        self.full = True

    def create_exclusive(self, path: Path) -> DiskFile:
        return (
            _FullFile(path, os.O_CREAT | os.O_EXCL)
            if self.full and path.suffix == ".tmp"
            else super().create_exclusive(path)
        )


class _FullFile(DiskFile):
    def writev(self, parts: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")


def test_an_error_of_a_conversion_comes_with_the_next_rotation_and_nothing_is_lost(tmp_path: Path) -> None:
    disk = _FullDisk()
    facts = open_facts(tmp_path, disk=disk)
    commit(facts, 1)
    facts.rotate()
    wait(facts)
    with pytest.raises(OSError, match="tail-1 could not be written as Parquet") as raised:
        facts.rotate()
    assert raised.value.errno == errno.ENOSPC
    assert shown(tmp_path, commit(facts, 2)) == expected(2)
    disk.full = False
    facts.rotate()
    wait(facts)
    facts.rotate()
    last = commit(facts, 3)
    assert len(last.parquet) == 3
    assert shown(tmp_path, last) == expected(3)
    facts.close()


def test_a_tail_damaged_on_disk_is_not_converted(tmp_path: Path) -> None:
    facts = open_facts(tmp_path)
    published = commit(facts, 1)
    path = tmp_path / "facts" / "tail-1"
    data = bytearray(path.read_bytes())
    data[-10] ^= 1
    path.write_bytes(data)
    facts.rotate()
    wait(facts)
    with pytest.raises(OSError, match="check sum of the frame of commit 1 is wrong"):
        facts.rotate()
    assert (facts.lengths(), facts.parquet()) == (published.lengths, [])


def test_row_groups_stay_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whimbrel.facts.parquet.GROUP_ROWS", 10)
    facts: ParquetFacts = open_facts(tmp_path, tail_bytes=10**9)
    for number in range(1, 6):
        facts.append(number, {"links": [sample.links(number, 7)]})
    facts.sync()
    (path,) = convert(tmp_path / "facts" / "tail-1", facts.lengths()["facts/tail-1"], 1, Disk(), Event())
    facts.close()
    found = pq.ParquetFile(path)
    assert [found.metadata.row_group(at).num_rows for at in range(found.num_row_groups)] == [10, 4, 10, 4, 7]
    assert found.read()["source_key"].to_pylist() == [number for number in range(1, 6) for _ in range(7)]
    found.close()


def test_a_parquet_file_says_how_many_of_its_rows_each_commit_has(tmp_path: Path) -> None:
    facts = open_facts(tmp_path, tail_bytes=10**9)
    for number, count in ((1, 2), (2, 0), (3, 5), (4, 1)):
        facts.append(number, {"captures": [sample.capture(number)] * count, "hosts": [sample.host("a", number)]})
    facts.sync()
    facts.finish()
    facts.close()
    path = tmp_path / "facts" / "captures-1.parquet"
    counts = rows_by_commit(pq.read_metadata(path))
    assert counts == {1: 2, 3: 5, 4: 1}
    assert row_count_problem(path) == ""
    # The rows since commit 2 are the last six: they are in the order of the commits.
    assert pq.read_table(path)["id"].to_pylist()[-sum(rows for number, rows in counts.items() if number > 2) :] == [
        *[3] * 5,
        4,
    ]


def test_the_parquet_of_an_earlier_version_does_not_say_it_and_is_no_problem(tmp_path: Path) -> None:
    old = pa.table({"id": [1, 2]}).replace_schema_metadata({"whimbrel.commits": "1 5"})
    pq.write_table(old, tmp_path / "captures-1.parquet")
    assert rows_by_commit(pq.read_metadata(tmp_path / "captures-1.parquet")) is None
    assert row_count_problem(tmp_path / "captures-1.parquet") == ""


def test_the_digests_of_new_parquet_files_are_known(tmp_path: Path) -> None:
    facts = open_facts(tmp_path, tail_bytes=10**9)
    commit(facts, 1)
    facts.finish()
    facts.close()
    assert facts.digests() == {
        name: "sha256:" + sha256((tmp_path / name).read_bytes()).hexdigest() for name in facts.parquet()
    }
