"""Readers beside a writer see committed rows, all of them, once."""

import os
from pathlib import Path
from threading import Event, Thread

import pytest

from tests.facts.crawl import NOTHING, Published, commit, expected, open_facts, shown, wait
from whimbrel.commit.committed import Committed, NotACrawl, publish
from whimbrel.durable_file import Disk
from whimbrel.facts.api import FactsDamaged
from whimbrel.query.open_snapshot import latest_snapshot
from whimbrel.query.snapshot import Snapshot, SnapshotGone
from whimbrel.query.sql import Query, QueryConfig


def publish_in(directory: Path, last: Published) -> None:
    files = {"archive/whimbrel-00001.warc.gz": 17, **last.lengths}
    publish(directory, Committed(number=last.number, files=files, parquet=last.parquet), Disk())


def test_queries_while_a_crawl_writes_see_whole_commits(tmp_path: Path) -> None:
    facts = open_facts(tmp_path)
    publish_in(tmp_path, commit(facts, 1))
    stop, wrong = Event(), list[object]()

    def write() -> None:
        try:
            for number in range(2, 10_000):
                if stop.is_set():
                    return
                facts.rotate()
                publish_in(tmp_path, commit(facts, number))
        except Exception as error:  # noqa: BLE001 shown by the test
            wrong.append(error)

    writer = Thread(target=write)
    writer.start()
    seen = []
    try:
        for _ in range(15):
            with Query([latest_snapshot(tmp_path)], QueryConfig()) as query:
                sql = "SELECT count(*), count(DISTINCT id), max(id), (SELECT max(fetched) FROM hosts) FROM pages"
                with query.run(sql) as answer:
                    seen += [tuple(row.values()) for batch in answer for row in batch.to_pylist()]
    finally:
        stop.set()
        writer.join()
        facts.close()
    assert wrong == []
    assert [(count, distinct, hosts) for count, distinct, _, hosts in seen] == [
        (last, last, last) for *_, last, _ in seen
    ]
    assert seen == sorted(seen)
    assert seen[-1][0] > 1


def test_a_tail_that_was_unlinked_meanwhile_is_told(tmp_path: Path) -> None:
    facts = open_facts(tmp_path)
    first = commit(facts, 1)
    for number in (2, 3, 4):
        facts.rotate()
        wait(facts)
        commit(facts, number)
    facts.close()
    with pytest.raises(SnapshotGone, match="facts/tail-1 is gone"):
        Snapshot(tmp_path, first.lengths, first.parquet).tables()


def test_a_snapshot_that_is_held_outlives_its_tails(tmp_path: Path) -> None:
    facts = open_facts(tmp_path)
    first = commit(facts, 1)
    facts.close()
    snapshot = Snapshot(tmp_path, first.lengths, first.parquet)
    snapshot.hold()
    (tmp_path / "facts" / "tail-1").unlink()
    assert snapshot.tables()["captures"]["id"].to_pylist() == [1]


def test_a_commit_that_lists_a_missing_file_is_damage(tmp_path: Path) -> None:
    publish_in(tmp_path, Published(3, {"facts/tail-1": 10}, []))
    with pytest.raises(FactsDamaged, match="commit 3 lists a file that is missing"):
        latest_snapshot(tmp_path)


def test_a_damaged_tail_is_told_with_its_place(tmp_path: Path) -> None:
    facts = open_facts(tmp_path)
    last = commit(facts, 1)
    facts.close()
    fd = os.open(tmp_path / "facts" / "tail-1", os.O_RDWR)
    os.pwrite(fd, b"\xff\xff", 40)
    os.close(fd)
    with pytest.raises(FactsDamaged, match="facts/tail-1 is damaged at byte 0"):
        Snapshot(tmp_path, last.lengths, last.parquet).tables()


def test_a_directory_without_a_crawl_is_told(tmp_path: Path) -> None:
    with pytest.raises(NotACrawl):
        latest_snapshot(tmp_path)


def test_an_empty_snapshot_shows_nothing(tmp_path: Path) -> None:
    assert shown(tmp_path, NOTHING) == expected(0)
