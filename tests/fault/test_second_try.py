"""A commit that fails half way is tried again: its rows are there once, whatever step it was that failed."""

import asyncio
import errno
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

import pytest

from tests.fault.crawl import rows
from whimbrel.archive.warc import ArchiveConfig, WarcArchive
from whimbrel.commit.committed import read_committed
from whimbrel.commit.committer import Committer, Settings
from whimbrel.commit.crash import Crash
from whimbrel.commit.recovery import last_commit
from whimbrel.durable_file import Disk, DiskFile
from whimbrel.facts.store import FactsConfig, ParquetFacts
from whimbrel.result.work import Work
from whimbrel.state.group import Group
from whimbrel.state.option import RocksConfig
from whimbrel.state.rocks import RocksState
from whimbrel.url import restore

SETTINGS = Settings(Crash(), 0, text=True, simhash=True)


class BrokenDisk(Disk):
    """Refuses to make or rename a file of a certain name, as often as it is told to."""

    def __init__(self) -> None:
        self.refused = ""
        self.times = 0

    def create_exclusive(self, path: Path) -> DiskFile:
        self._refuse(path)
        return super().create_exclusive(path)

    def replace(self, source: Path, target: Path) -> None:
        self._refuse(target)
        super().replace(source, target)

    def _refuse(self, path: Path) -> None:
        if path.name == self.refused and self.times:
            self.times -= 1
            raise OSError(errno.ENOSPC, "No space left on device")


class DoubtfulState(RocksState):
    """Its next write is durable, and reported as failed: so does a sync that fails after the data were written."""

    doubtful = False

    def write(self, group: Group, meta: Mapping[bytes, bytes] = MappingProxyType({})) -> None:
        super().write(group, meta)
        if self.doubtful:
            self.doubtful, self.failed = False, True
            raise OSError(errno.EIO, "the sync failed")


class Bench:
    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.disk = BrokenDisk()
        self.state = DoubtfulState(RocksConfig(directory=str(directory)))
        asyncio.run(self.state.open())
        last = last_commit(self.state.get)
        archive = WarcArchive(directory, ArchiveConfig(), self.disk)
        self.facts = ParquetFacts(directory, FactsConfig(tail_bytes=1), self.disk)
        self.committer = Committer(directory, self.state, archive, self.facts, self.disk, last)
        self.committer.recover(SETTINGS)

    def commit(self, number: int, tries: int) -> None:
        """A commit of one row, of which all tries but the last fail."""
        work = Work()
        work.dropped.append((restore(f"http://a.test/{number}"), "too-many-queries", "", 1.0))
        group = self.state.seal(number)
        for _ in range(tries - 1):
            with pytest.raises(OSError, match=r"No space|sync failed"):
                self.committer.commit(group, work, SETTINGS, lambda done: done)
            if self.state.failed:
                self.state.reopen()
        self.committer.commit(group, work, SETTINGS, lambda done: done)
        self.state.forget(group)

    def close(self) -> None:
        self.facts.close()
        asyncio.run(self.state.close())


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(tmp_path)
    yield bench
    bench.close()


def refuse(name: str, times: int) -> Callable[[Bench], int]:
    def harm(bench: Bench) -> int:
        bench.disk.refused, bench.disk.times = name, times
        return times

    return harm


def doubt(bench: Bench) -> int:
    bench.state.doubtful = True
    return 1


HARMS = {
    "the tail cannot be made": refuse("tail-2", 1),
    "the commit cannot be written for readers": refuse("COMMITTED.tmp", 2),
    "the commit cannot be published": refuse("COMMITTED", 1),
    "the state is in doubt": doubt,
}


@pytest.mark.parametrize("harm", HARMS.values(), ids=HARMS)
def test_rows_are_there_once_after_several_tries(bench: Bench, harm: Callable[[Bench], int]) -> None:
    bench.commit(1, tries=1)
    failures = harm(bench)
    bench.commit(2, tries=1 + failures)
    bench.commit(3, tries=1)
    assert read_committed(bench.directory).number == 3
    assert read_committed(bench.directory) == last_commit(bench.state.stored)
    found = rows(bench.directory, "select url from fetches order by url")
    assert [row["url"] for row in found] == [f"http://a.test/{number}" for number in (1, 2, 3)]


def test_a_crash_between_a_doubtful_write_and_its_second_try_loses_nothing(tmp_path: Path) -> None:
    """The files must not have been cut back: the state may list them."""
    bench = Bench(tmp_path)
    bench.commit(1, tries=1)
    work = Work()
    work.dropped.append((restore("http://a.test/2"), "too-many-queries", "", 1.0))
    bench.state.doubtful = True
    with pytest.raises(OSError, match="sync failed"):
        bench.committer.commit(bench.state.seal(2), work, SETTINGS, lambda done: done)
    bench.close()
    Bench(tmp_path).close()
    found = rows(tmp_path, "select url from fetches order by url")
    assert [row["url"] for row in found] == ["http://a.test/1", "http://a.test/2"]
