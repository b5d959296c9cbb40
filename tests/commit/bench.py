"""A committer with real files and a real database, and no crawl around it."""

import asyncio
from pathlib import Path

import msgspec

from tests.archive.sample import capture
from whimbrel.archive.api import Capture
from whimbrel.archive.warc import ArchiveConfig, WarcArchive
from whimbrel.commit.committed import Committed
from whimbrel.commit.committer import Committer, Settings
from whimbrel.commit.crash import Crash
from whimbrel.commit.recovery import last_commit
from whimbrel.durable_file import Disk
from whimbrel.facts.store import FactsConfig, ParquetFacts
from whimbrel.result.work import Work
from whimbrel.state.option import RocksConfig
from whimbrel.state.rocks import RocksState
from whimbrel.url import restore

SETTINGS = Settings(Crash(), reserve_bytes=0, text=True, simhash=False)


class Bench:
    """`segment_bytes` 1 makes a segment of each capture."""

    def __init__(self, directory: Path, *, segment_bytes: int = 1, forget_digests: bool = False) -> None:
        self.directory = directory
        self.state = RocksState(RocksConfig(directory=str(directory)))
        asyncio.run(self.state.open())
        last = last_commit(self.state.get)
        if forget_digests:
            last = msgspec.structs.replace(last, digests={})
        self.archive = WarcArchive(directory, ArchiveConfig(segment_bytes=segment_bytes), Disk())
        self.facts = ParquetFacts(directory, FactsConfig(tail_bytes=1), Disk())
        self.committer = Committer(directory, self.state, self.archive, self.facts, Disk(), last)
        self.committer.recover(SETTINGS)

    def commit(self, *captures: Capture) -> Committed:
        """One row, and captures that belong to no visit."""
        number, work = self.committer.last.number + 1, Work()
        work.dropped.append((restore(f"http://a.test/{number}"), "too-many-queries", "", 1.0))
        work.captures += captures or [capture(b"page", number)]
        return self._commit(number, work)

    def finish(self) -> Committed:
        """As at the end of a run."""
        while self.committer.finish():
            self._commit(self.committer.last.number + 1, Work())
        return self.committer.last

    def _commit(self, number: int, work: Work) -> Committed:
        group = self.state.seal(number)
        done = self.committer.commit(group, work, SETTINGS, lambda done: done)
        self.state.forget(group)
        return done

    def close(self) -> None:
        self.archive.close()
        self.facts.close()
        asyncio.run(self.state.close())
