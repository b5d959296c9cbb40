"""The open group: who fills it, when it is sealed, and what waits for it to be durable."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TypeVar

import msgspec

from whimbrel.archive.api import Archive, Capture
from whimbrel.archive.warc import ArchiveConfig, WarcArchive
from whimbrel.clock import Clock
from whimbrel.commit.committed import Committed
from whimbrel.commit.committer import Committer, Settings, commit_shortage
from whimbrel.commit.counters import Counters, increment
from whimbrel.commit.crash import Crash
from whimbrel.commit.group_limit import GroupLimit
from whimbrel.commit.recovery import last_commit
from whimbrel.commit.shortage_watch import ShortageWatch
from whimbrel.durable_file import Disk
from whimbrel.error import StorageTrouble
from whimbrel.facts.api import Facts
from whimbrel.facts.row import EventRow, HostRow
from whimbrel.facts.store import FactsConfig, ParquetFacts
from whimbrel.flow import Metric, Needs, Provider
from whimbrel.observable import Observable
from whimbrel.parse.api import Handled
from whimbrel.result.work import SettledVisit, Work
from whimbrel.shortage import Shortage
from whimbrel.state.api import State, StateError
from whimbrel.state.group import Group
from whimbrel.url import Url

_T = TypeVar("_T")


class JournalConfig(GroupLimit, frozen=True):
    directory: str = ""
    """The crawl's directory."""
    reserve_bytes: int = 256_000_000
    """Free space below which the crawl pauses."""
    text: bool = True
    """Keep the visible text of pages in the tables."""
    simhash: bool = False
    """Compute the SimHash of that text during the crawl, about 30 µs for 25 KB. Else queries compute it when they need
    it, from the text in the tables: set this for millions of pages, or where their text is not kept."""
    segment_bytes: int = 1_000_000_000
    """A WARC file longer than this is sealed, and the next one begins."""
    compression: str = "isal"
    """Library for the archive: `isal` is fast, `zlib` packs up to a fifth tighter at its higher levels."""
    level: int = 1
    """0 to 3 for `isal`, 0 to 9 for `zlib`."""
    prefix: str = "whimbrel"
    """WARC files are named PREFIX-NNNNN.warc.gz."""
    info: tuple[tuple[str, str], ...] = ()
    """Fields of the warcinfo records."""
    tables: dict[str, tuple[tuple[str, str], ...]] = {}  # noqa: RUF012 - msgspec copies it
    """Tables of items, with their columns; from the handlers that are given."""
    tail_bytes: int = 64_000_000
    """Rows beyond this are turned into Parquet."""
    crash_at: str = ""
    """For tests: POINT or POINT:N at which the process kills itself."""


class JournalError(StorageTrouble):
    """The last commits of a crawl could not be made; the message says why and what to do."""


class Journal(Provider, Observable):
    """All effects of a visit are added within one step of the loop, so that a group never splits a visit.

    Parts that keep changes in memory are asked to write them down before a group is sealed (`before_seal`), and are
    told when it is durable (`after_commit`). Listeners are called when a commit is done or has trouble.
    """

    Config = JournalConfig
    config: JournalConfig
    live = frozenset(GroupLimit.__struct_fields__)
    fixed = "the files of the crawl belong to it"
    metrics = (
        Metric("journal_commits_total", "counter", "Commits made, of all runs.", lambda own: own.last.number),
        Metric("journal_commit_age_seconds", "gauge", "Since the last commit.", lambda own: own.age_s),
        Metric(
            "journal_group_bytes",
            "gauge",
            "What waits to be committed: bodies, texts, links, rows and changes of the state.",
            lambda own: own.open_bytes,
        ),
        Metric("journal_trouble", "gauge", "1 while the disk takes no data.", lambda own: float(bool(own.trouble))),
        Metric(
            "archive_bytes",
            "gauge",
            "Bytes of WARC files in the last commit.",
            lambda own: sum(own.last.archive().values()),
        ),
    )
    lasting = frozenset({"directory"})
    state = Needs(State)
    clock = Needs(Clock)

    async def open(self) -> None:
        config = self.config
        directory = Path(config.directory)
        disk = Disk()
        archive, facts = make_stores(directory, config, disk)
        last = last_commit(self.state.get)
        self._committer = Committer(directory, self.state, archive, facts, disk, last)
        self._settings = Settings(Crash(config.crash_at), config.reserve_bytes, config.text, config.simhash)
        self._loop = asyncio.get_running_loop()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="committer")
        self._number = last.number
        self._work = Work()
        self._work.tables = dict(config.tables)
        self.counters = last.counters.copy()
        self.resumed = last.number > 0
        self.seeded = self.resumed and last.seeded
        """Whether all seeds are in the crawl. Who seeds it says so, in the same step as the last seed."""
        self._refusal: Shortage | None = None
        """Why the last try of a commit failed."""
        self._watch = ShortageWatch(directory, config.reserve_bytes)
        self._broken = False
        self._writing: asyncio.Task[None] | None = None
        self._before: list[Callable[[], None]] = []
        self._after: list[Callable[[int], None]] = [self._release_bodies, self._wake]
        self._sealed = Work()
        """What is being written."""
        self._durable = last.number
        self._committed_s = self.clock.now_s()
        self._waiting: list[tuple[int, asyncio.Future[None]]] = []
        """Those that wait for a commit, with its number."""
        self._state_said = "running"
        self._ending = False
        self._hurried = False
        self._noted: dict[str, set[str]] = {}
        """The tables of each version of handlers' code, as the events of this run say."""
        await self._loop.run_in_executor(self._thread, self._committer.recover, self._settings)
        self._timer = self._loop.call_later(config.every_s, self._tick)

    @property
    def last(self) -> Committed:
        return self._committer.last

    @property
    def age_s(self) -> float:
        """Since the last commit of this run, or since the run began; 0 before the crawl's first."""
        return self.clock.now_s() - self._committed_s if self.last.number else 0.0

    @property
    def trouble(self) -> str:
        """Why commits cannot be made, for people; empty when all is well."""
        return "" if self._refusal is None else self._refusal.cause

    @property
    def shortage(self) -> Shortage | None:
        """What this machine lacks: commits cannot be made, or visits could not."""
        return self._refusal or self._watch.shortage

    def pause_for(self, shortage: Shortage) -> None:
        """A visit did not happen because this machine lacks something. No request begins until it is there again."""
        self._watch.begin(shortage, self.clock.now_s())
        self._tell()

    @property
    def open_bytes(self) -> int:
        """What the open group takes, about."""
        return self._work.bytes + self.state.changed_bytes

    @property
    def _is_limit_reached(self) -> bool:
        work, config = self._work, self.config
        visits = len(work.visits) + len(work.captures) + len(work.handled)
        return self.open_bytes >= config.group_bytes or visits >= config.group_visits

    @property
    def is_full(self) -> bool:
        return self._writing is not None and not self._broken and not self.trouble and self._is_limit_reached

    @property
    def behind(self) -> bool:
        """The open group is full and cannot be sealed, because the one before it is still being written."""
        if self._broken or self._writing is None:
            return self._broken
        return bool(self.trouble) or self._is_limit_reached

    def before_seal(self, write_down: Callable[[], None]) -> None:
        self._before.append(write_down)

    def after_commit(self, durable: Callable[[int], None]) -> None:
        """Call `durable` with the number of each commit when it is on disk and published: on the loop, in the order of
        commits. It must not raise."""
        self._after.append(durable)

    def add(self, settled: SettledVisit) -> None:
        if settled.handled is not None:
            self._note_code(settled.handled)
        self._work.add_visit(settled)
        self.seal_if_full()

    def add_capture(self, capture: Capture) -> None:
        """One that belongs to no visit."""
        self._work.add_capture(capture)
        self.seal_if_full()

    def add_handled(self, url: str, capture_id: int, handled: Handled) -> None:
        """Handlers looked at a page of the archive again."""
        self._work.add_handled(url, capture_id, self.clock.wall_s(), handled)
        increment(self.counters.handled, handled.outcome)
        self._note_code(handled)
        self.seal_if_full()

    def add_dropped(self, url: Url, reason: str, source: str) -> None:
        self._work.add_dropped(url, reason, source, self.clock.wall_s())

    def add_requeued(self, url: Url, source: str) -> None:
        self._work.add_requeued(url, source, self.clock.wall_s())

    def add_host(self, row: HostRow) -> None:
        self._work.add_host(row)

    def add_event(self, actor: str, action: str, subject: str, detail: str = "") -> None:
        self._work.add_event(EventRow(self.clock.wall_s(), actor, action, subject, detail))

    def _note_code(self, handled: Handled) -> None:
        """An event says which tables the code of handlers fills, in the commit of the first page they looked at: of
        these, and of no others, their items take the place of earlier ones (`query/view.py`)."""
        noted = self._noted.get(handled.version)
        if noted is None:
            noted = self._noted[handled.version] = set(self.config.tables)
            self.add_event("handlers", "code", handled.version, " ".join(sorted(noted)))
        # A class that stands inside of a function is not seen before it is used.
        if not noted.issuperset(table for table, *_ in handled.items):
            noted.update(table for table, *_ in handled.items)
            self.add_event("handlers", "code", handled.version, " ".join(sorted(noted)))

    def seal_if_full(self) -> None:
        """To be called after a step that has put something into the group, or into the state."""
        if self._writing is None and self._is_limit_reached:
            self._loop.call_soon(self._seal)

    def hurry(self) -> None:
        """Something must not be forgotten: commit as soon as this step is over, and the commit that is under way."""
        self._hurried = True
        self._loop.call_soon(self._seal)

    def abandon(self) -> None:
        """An effect was applied only in part: nothing of the open group may become durable."""
        self._broken = True
        if self._writing is None:
            self._wake(self._durable)

    def _tick(self) -> None:
        self._timer = self._loop.call_later(self.config.every_s, self._tick)
        if self._watch.look(self.clock.now_s()):
            self._tell()
        self._seal()

    def _seal(self, *, empty: bool = False) -> None:
        """Begin a commit, unless one is under way or there is nothing to commit; `empty` begins one all the same."""
        if self._writing is not None or self._broken or not (empty or self._work or self.state.changed):
            return
        for write_down in self._before:
            write_down()
        self._number += 1
        self._hurried = False
        self._sealed, self._work = self._work, Work()
        group = self.state.seal(self._number)
        description = partial(_describe, self.counters.copy(), self.clock.wall_s(), self._state_said, self.seeded)
        self._writing = self._loop.create_task(self._write(group, description))

    async def _write(self, group: Group, describe: Callable[[Committed], Committed]) -> None:
        commit = partial(self._committer.commit, group, self._sealed, self._settings, describe)
        while True:
            try:
                if self.state.failed:
                    self.state.reopen()  # Here: the committer rests, and nobody can read meanwhile.
                await self._loop.run_in_executor(self._thread, commit)
                break
            except (OSError, StateError) as error:
                self._say(commit_shortage(error))
                if self._ending:
                    self._give_up(error)
                    return
                await asyncio.sleep(min(1.0, self.config.every_s))
        self.state.forget(group)
        self.counters.lost_values += self._committer.lost_values
        self._writing = None
        self._committed_s = self.clock.now_s()
        for durable in self._after:
            durable(group.number)
        self._say(None)
        if self._is_limit_reached or self._hurried:
            self._seal()

    def _release_bodies(self, _number: int) -> None:
        """Give back the memory and the spill files of what is durable."""
        sealed, self._sealed = self._sealed, Work()
        for settled in sealed.visits:
            exchange = settled.exchange
            if exchange is not None and exchange.response is not None:
                exchange.response.document.close()

    def _wake(self, number: int) -> None:
        """Checkpoints that wait for this commit, or for one that will never be made."""
        self._durable = number
        waiting, self._waiting = self._waiting, []
        for wanted, future in waiting:
            if wanted > number and not self._broken:
                self._waiting.append((wanted, future))
            elif not future.done():
                future.set_result(None)
        if self._waiting:
            self._seal()

    def _give_up(self, error: Exception) -> None:
        """The crawl ends, and the disk takes nothing."""
        waiting, self._waiting = self._waiting, []
        for _, future in waiting:
            if not future.done():
                future.set_exception(error)

    def _say(self, refusal: Shortage | None) -> None:
        self._refusal = refusal
        self._tell()

    async def checkpoint(self) -> Committed:
        """Returns when everything up to now is durable. What comes meanwhile is for the next commit."""
        number = self._number + bool(self._work or self.state.changed)
        if self._durable < number and not self._broken:
            future = self._loop.create_future()
            self._waiting.append((number, future))
            self._seal()
            await future
        return self._committer.last

    async def conclude(self, state: str, actor: str = "crawl", detail: str = "") -> None:
        """The crawl has ended: `done`, or `stopped` with work left. Or another `actor` has, and leaves the crawl in a
        state that it was in."""
        if self._refusal is not None:
            # What is not durable by now is visited again after `resume`.
            raise _cannot_commit(self._refusal, self.config.directory)
        if self._broken:
            return
        self._state_said, self._ending = state, True
        self.add_event(actor, state if actor == "crawl" else "done", "", detail)
        try:
            await self._end(ended=state == "done")
        except (OSError, StateError) as error:
            # Nobody watches any more: to wait for room would look like hanging.
            raise _cannot_commit(commit_shortage(error), self.config.directory) from error

    async def _end(self, *, ended: bool) -> None:
        await self.checkpoint()
        if ended:
            await self._call(self._committer.end_segment)
        reach = self._settings.crash.reach
        reach("segment-ended")
        while await self._call(self._committer.finish):
            # The commit lists the Parquet files. It must add no row: that would have to be converted again.
            reach("facts-finished")
            self._seal(empty=True)
            await self.checkpoint()
        await self._call(partial(self._committer.index, self._committer.last.archive()))
        reach("indexed")

    async def _call(self, act: Callable[[], _T]) -> _T:
        return await self._loop.run_in_executor(self._thread, act)

    async def close(self) -> None:
        self._timer.cancel()
        if self._writing is not None and not self.trouble:
            await asyncio.wait([self._writing])
        elif self._writing is not None:
            self._writing.cancel()
        for _, future in self._waiting:
            future.cancel()
        await self._call(self._committer.close)
        self._thread.shutdown(wait=True)


def make_stores(directory: Path, config: JournalConfig, disk: Disk) -> tuple[Archive, Facts]:
    """What a crawl's files are written with. All of them are made here."""
    archive = ArchiveConfig(
        segment_bytes=config.segment_bytes,
        library=config.compression,
        level=config.level,
        prefix=config.prefix,
        info=config.info,
    )
    facts = FactsConfig(tail_bytes=config.tail_bytes)
    return WarcArchive(directory, archive, disk), ParquetFacts(directory, facts, disk)


def _describe(counters: Counters, at_s: float, state: str, seeded: bool, done: Committed) -> Committed:  # noqa: FBT001
    return msgspec.structs.replace(done, counters=counters, at_s=at_s, state=state, seeded=seeded)


def _cannot_commit(lack: Shortage, directory: str) -> JournalError:
    return JournalError(f"{lack.explain(directory)}. Nothing is lost. {lack.remedy}")
