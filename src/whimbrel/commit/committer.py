"""The steps of one commit, on the committer's thread."""

import errno
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from whimbrel.archive.api import Archive, MetadataCapture, RecordPlace
from whimbrel.commit.committed import Committed, publish
from whimbrel.commit.crash import Crash
from whimbrel.commit.digest import CATCH_UP_BYTES, FileDigests
from whimbrel.commit.free_space import check_free_space
from whimbrel.commit.recovery import META_KEY, check_listed, check_published, cut_back, keep_job, last_commit
from whimbrel.durable_file import Disk
from whimbrel.facts.api import Facts
from whimbrel.facts.identity import UrlIds
from whimbrel.facts.repair import repaired
from whimbrel.facts.row import EventRow
from whimbrel.result.rows import rows
from whimbrel.result.work import Work
from whimbrel.shortage import Shortage, is_refused_memory, shortage_of
from whimbrel.state.api import State, StateError
from whimbrel.state.group import Group


class CommitBug(OSError):
    """A commit failed for no fault of the disk. Like an error of the disk it keeps the group in memory."""


def commit_shortage(error: OSError | StateError) -> Shortage:
    """What an error of a commit means."""
    if isinstance(error, CommitBug):
        return Shortage("software", str(error))
    return shortage_of(error) if isinstance(error, OSError) else Shortage("disk", str(error))


class Committer:
    """Owns the files of a crawl. `last` is the last commit, durable whatever happens."""

    def __init__(
        self, directory: Path, state: State, archive: Archive, facts: Facts, disk: Disk, last: Committed
    ) -> None:
        self._directory = directory
        self._state = state
        self._archive = archive
        self._facts = facts
        self._disk = disk
        self.last = last
        self._dirty = False
        """A try has failed, and what it left has not been taken away yet."""
        self._listed: set[str] = set()
        """Names in the published commit that are there for good, also after a power failure."""
        self._segments = len(last.archive())
        self._digests = FileDigests(directory, last.digests)
        self._ids = UrlIds()
        self.lost_values = 0
        """Of the last commit: values that no table can hold."""

    def recover(self, settings: "Settings") -> None:
        """Before anything else: back to the last commit. Where that is impossible nothing is changed."""
        last = self.last
        check_published(self._directory, last)
        check_listed(self._directory, last, self._disk)
        cut_back(last, self._facts, self._archive)
        settings.crash.reach("recovery-cut")
        if last.number:
            self._publish()
            settings.crash.reach("recovery-published")
            self._archive.index(last.archive())
        else:
            keep_job(self._directory, self._disk)

    def commit(
        self, group: Group, work: Work, settings: "Settings", describe: Callable[[Committed], Committed]
    ) -> Committed:
        """Make a group durable. After an OSError call it again with the same group: it goes on from where it was.

        `describe` fills in what the loop's thread knows: counters, time and the crawl's state.
        """
        try:
            if self._dirty:
                self._tidy()
            if self.last.number < group.number:
                check_free_space(self._directory, settings.reserve_bytes)
                self._make_durable(group, work, settings, describe)
            self._publish()
            settings.crash.reach("published")
            self._facts.rotate()
            settings.crash.reach("rotated")
            self._index_sealed()
            self._advance_digests(CATCH_UP_BYTES)
        except OSError:
            raise
        except Exception as error:
            if is_refused_memory(error):
                raise OSError(errno.ENOMEM, f"{os.strerror(errno.ENOMEM)}: {error}") from error
            raise CommitBug(f"commit {group.number} failed: {type(error).__name__}: {error}") from error
        return self.last

    def _index_sealed(self) -> None:
        """A segment that has ended since the last time gets its index."""
        segments = self.last.archive()
        if len(segments) > self._segments:
            self._archive.index(segments)
            self._segments = len(segments)

    def _advance_digests(self, most_bytes: int) -> None:
        """After a commit: what it lists is never cut."""
        parquet = {name: self._disk.length(self._directory / name) for name in self._unknown(self.last.parquet)}
        sealed = [*self._archive.sealed(), *parquet]
        self._digests.advance({**self.last.archive(), **parquet}, sealed, most_bytes)

    def _unknown(self, parquet: list[str]) -> list[str]:
        known = self._digests.known.keys() | self._facts.digests().keys()
        return [name for name in parquet if name not in known and (self._directory / name).exists()]

    def _make_durable(
        self, group: Group, work: Work, settings: "Settings", describe: Callable[[Committed], Committed]
    ) -> None:
        self._dirty = True
        try:
            self.last = self._commit(group, work, settings, describe)
        except Exception:
            if not self._state.failed:
                self._tidy()
            raise
        self._dirty = False

    def _tidy(self) -> None:
        """Take away what a try has left. The state knows whether it was the commit: a sync that failed may have
        worked all the same, and then its files must stay."""
        self.last = last_commit(self._state.stored)
        cut_back(self.last, self._facts, self._archive)
        self._dirty = False

    def _commit(
        self, group: Group, work: Work, settings: "Settings", describe: Callable[[Committed], Committed]
    ) -> Committed:
        reach = settings.crash.reach
        reach("begun")
        places = self._append(work)
        reach("archive-appended")
        new = rows(work, places, self._ids, text=settings.text, simhash=settings.simhash)
        self._append_rows(group.number, new, describe)
        reach("facts-appended")
        self._archive.sync()
        reach("archive-synced")
        self._facts.sync()
        reach("facts-synced")
        files = {**self._archive.lengths(), **self._facts.lengths()}
        parquet = self._facts.parquet()
        self._digests.known |= self._facts.digests()
        digests = self._digests.listed([*self._archive.sealed(), *parquet])
        done = describe(Committed(number=group.number, files=files, parquet=parquet, digests=digests))
        self._state.write(group, {META_KEY: msgspec.msgpack.encode(done)})
        reach("state-written")
        return done

    def _append_rows(self, number: int, new: dict[str, Any], describe: Callable[[Committed], Committed]) -> None:
        """One value that no table can hold must not block this commit and all later ones: it is left out, and an event
        says so."""
        self.lost_values = 0
        try:
            self._facts.append(number, new)
        except OSError:
            raise
        except Exception:
            kept, lost = repaired(new)
            if not lost:
                raise
            at_s = describe(Committed()).at_s
            events = [
                EventRow(at_s, "journal", "value-lost", one.subject, f"{one.table}.{one.column}: {one.error}")
                for one in lost
            ]
            self._facts.append(number, {**kept, "events": [*kept.get("events", ()), *events]})
            self.lost_values = len(lost)

    def _append(self, work: Work) -> list[RecordPlace | None]:
        """Where each visit's content is: its first record that is no metadata. None where it has none."""
        captures = [capture for settled in work.visits for capture in settled.captures]
        found = iter(self._archive.append(captures + work.captures))
        places: list[RecordPlace | None] = []
        for settled in work.visits:
            placed = [(capture, next(found)) for capture in settled.captures]
            places.append(next((place for capture, place in placed if not isinstance(capture, MetadataCapture)), None))
        return places

    def _publish(self) -> None:
        """The name need not be durable: a start publishes again. But nobody should find a commit that lists files
        which are gone, so it must be before one of them goes."""
        last = self.last
        publish(self._directory, last, self._disk)
        listed = {*last.files, *last.parquet}
        if listed != self._listed:
            self._disk.fsync_directory(self._directory)
            self._listed = listed

    def end_segment(self) -> None:
        """The crawl is done: no more records go to the open segment."""
        self._archive.seal()

    def finish(self) -> bool:
        """Bring all rows into Parquet, and complete the digests; true when one more commit must list that."""
        changed = self._facts.finish()
        self._advance_digests(sys.maxsize)
        return changed or not self._digests.known.keys() <= self.last.digests.keys()

    def close(self) -> None:
        """Let go of the files."""
        self._archive.close()
        self._facts.close()

    def index(self, sealed: dict[str, int]) -> None:
        self._archive.index(sealed)


class Settings(msgspec.Struct, frozen=True):
    """Of every commit."""

    crash: Crash
    reserve_bytes: int
    text: bool
    simhash: bool
