"""Handlers over an archive: the pages of a crawl are looked at again, and nothing is fetched."""

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, suppress
from functools import partial
from pathlib import Path
from typing import Any, Final

import msgspec
import uvloop

from whimbrel.clock import SystemClock
from whimbrel.commit.committed import IMPORT_LIST, read_committed
from whimbrel.commit.crash import Crash
from whimbrel.commit.journal import Journal, JournalConfig
from whimbrel.commit.upgrade import upgrade
from whimbrel.commit.verify_state import check_state
from whimbrel.handle.component import handled_of
from whimbrel.handle.handler_pool import HandlerCode, HandlerPool, HandlerPoolConfig, HandlerPoolLost
from whimbrel.handle.message import ArchiveRef, HandlerResult, HandlerTask
from whimbrel.handle.page import RawPage
from whimbrel.handle.rule import HandlerRules
from whimbrel.handle.runner import handler_code
from whimbrel.job.options import JOB_FILE
from whimbrel.job.resume import upgrade_state
from whimbrel.job.stored import stored_job
from whimbrel.query.open_snapshot import latest_snapshot
from whimbrel.query.snapshot import Snapshot
from whimbrel.query.sql import Query, QueryConfig
from whimbrel.state.option import RocksConfig
from whimbrel.state.rocks import RocksState

_BATCH: Final = 64
_NO_LIMIT_S: Final = 1e8
_SHOW_S: Final = 0.5
_PAGES: Final = """
    SELECT * EXCLUDE (place), unnest(place) FROM (
        SELECT page.url, page.capture_id, page.status, page.mime, page.charset, page.depth,
               epoch(page.fetched_at) AS at_s,
               CASE page.duplicate_of WHEN '' THEN page.place ELSE whole.place END AS place
        FROM (SELECT *, {place} AS place FROM _pages page WHERE ({where})) page
        LEFT JOIN (
            SELECT capture_id, max_by({place}, fetched_at) AS place FROM _contents WHERE duplicate_of = ''
            AND capture_id IN (SELECT duplicate_of_id FROM _pages) GROUP BY capture_id
        ) whole ON whole.capture_id = page.duplicate_of_id
    ) WHERE place.file <> '' ORDER BY place.file, place.start"""
"""Each page once, with the place of its body: of a duplicate, that of the capture it repeats."""
_PLACE: Final = "struct_pack(file := warc_file, start := warc_offset, length := warc_length)"


class Reparsed(msgspec.Struct, frozen=True):
    """How it went."""

    pages: int = 0
    """That handlers looked at."""
    items: int = 0
    """That they made."""
    failed: int = 0
    """Pages whose handlers failed: the table `handled` says how."""
    elapsed_s: float = 0.0
    """Seconds it took."""
    version: str = ""
    """Of the handlers' code."""


def reparse(
    directory: Path,
    rules: HandlerRules,
    *,
    where: str = "true",
    processes: int = 1,
    time_limit_s: float = 10.0,
    show: Callable[[Reparsed], None] = lambda _: None,
) -> Reparsed:
    """Run handlers over all pages of a crawl that is not running, or over those for which `where` holds. Their items
    take the place of those that earlier versions made of the same pages, in the tables of the item classes that the
    handlers can see; what was replaced stays in the tables' histories. Where a handler fails, a page's earlier items
    stay.

    It can be interrupted at any moment and begun again. Raises Busy while the crawl is running, NotACrawl if there is
    none, QueryFailed if `where` is no condition, HandlerPoolLost if the workers' parent process was killed.
    """
    snapshot = latest_snapshot(directory)
    if (directory / JOB_FILE).is_file():
        upgrade_state(stored_job(directory), directory, lambda _: None)
    elif (directory / IMPORT_LIST).exists():  # An import has no job.
        upgrade(directory, by_domain=False, say=lambda _: None, crash=Crash(""))
    check_state(directory)
    config = HandlerPoolConfig(processes, time_limit_s, _BATCH)
    with handler_code(rules) as code:
        return uvloop.run(_Again(directory, snapshot, code, show).run(config, where))


class _Again:
    def __init__(
        self, directory: Path, snapshot: Snapshot, code: HandlerCode, show: Callable[[Reparsed], None]
    ) -> None:
        self._directory, self._snapshot, self._code, self._show = directory, snapshot, code, show
        self._rules, self._version = code.rules, code.version
        self._under_way = self._pages = self._items = self._failed = 0
        self._awaited = 0
        self._landed = asyncio.Event()
        self._lost = ""
        self._began_s = self._shown_s = time.monotonic()

    async def run(self, config: HandlerPoolConfig, where: str) -> Reparsed:
        state = RocksState(RocksConfig(directory=str(self._directory)))
        journal = self._journal = Journal(
            JournalConfig(directory=str(self._directory), tables=self._rules.tables(), reserve_bytes=0)
        )
        journal.bind("state", state)
        journal.bind("clock", SystemClock())
        state_before = read_committed(self._directory).state  # Commits of ours say that something runs.
        pool = HandlerPool(config)
        pool.bind("code", self._code)
        async with AsyncExitStack() as opened:
            await state.open()
            opened.push_async_callback(state.close)
            await journal.open()
            opened.push_async_callback(journal.close)
            await pool.open()
            opened.push_async_callback(pool.close)
            await self._submit_all(pool, where)
            await journal.conclude(state_before, "reparse", self._version)
        return self._found()

    async def _submit_all(self, pool: HandlerPool, where: str) -> None:
        for capture_id, task in self._tasks(where):
            if not self._rules.matching(task.raw.url, task.raw.mime):
                continue
            if self._under_way >= pool.capacity:
                # Then many at once: to be woken for each costs more than the page.
                await self._wait_for(pool.capacity // 2)
            while self._journal.behind:
                await self._wait()
            self._under_way += 1
            pool.submit(task, partial(self._land, task, capture_id))
        await self._wait_for(0)

    async def _wait_for(self, most: int) -> None:
        """Until no more than so many are under way."""
        self._awaited = most
        while self._under_way > most:
            await self._wait()

    async def _wait(self) -> None:
        """For something to happen. HandlerPoolLost when nothing will."""
        self._landed.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(_SHOW_S):
                await self._landed.wait()
        if self._lost:
            raise HandlerPoolLost(self._lost)
        if time.monotonic() - self._shown_s > _SHOW_S:
            self._shown_s = time.monotonic()
            self._show(self._found())

    def _tasks(self, where: str) -> Iterator[tuple[int, HandlerTask]]:
        config = QueryConfig(time_limit_s=_NO_LIMIT_S)
        with Query([self._snapshot], config) as query, query.run(_PAGES.format(where=where, place=_PLACE)) as answer:
            for batch in answer:
                for row in batch.to_pylist():
                    yield row["capture_id"], self._task(row)

    def _task(self, row: dict[str, Any]) -> HandlerTask:
        raw = RawPage(row["url"], row["status"], {}, b"", row["mime"], row["charset"], row["depth"], row["at_s"])
        return HandlerTask(raw, ref=ArchiveRef(str(self._directory), row["file"], row["start"], row["length"]))

    def _land(self, task: HandlerTask, capture_id: int, result: HandlerResult) -> None:
        if result.outcome == "lost":
            self._lost = result.error
            self._landed.set()
            return
        self._under_way -= 1
        self._pages += 1
        self._items += len(result.items)
        self._failed += result.outcome != "ok"
        self._journal.add_handled(task.raw.url, capture_id, handled_of(result, self._version))
        if self._under_way <= self._awaited:
            self._landed.set()

    def _found(self) -> Reparsed:
        elapsed_s = time.monotonic() - self._began_s
        return Reparsed(self._pages, self._items, self._failed, elapsed_s, self._version)
