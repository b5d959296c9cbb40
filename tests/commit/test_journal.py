"""Groups, from the visits that enter them to the commits that make them durable."""

import asyncio
import errno
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from functools import wraps
from hashlib import sha1
from pathlib import Path
from typing import Any, ParamSpec

import pytest

from tests.fault.crawl import rows
from whimbrel.archive.api import ResponseCapture
from whimbrel.clock import SystemClock
from whimbrel.commit.committed import Committed, read_committed
from whimbrel.commit.journal import Journal, JournalConfig, JournalError
from whimbrel.durable_file import Disk
from whimbrel.fetch.api import Exchange, Response
from whimbrel.fetch.body import MemoryDocument
from whimbrel.fetch.trouble import Trouble
from whimbrel.outcome import Outcome
from whimbrel.parse.api import ParsedPage
from whimbrel.result.work import SettledVisit
from whimbrel.state.option import RocksConfig
from whimbrel.state.rocks import RocksState
from whimbrel.url import restore
from whimbrel.visit import Request, Visit

P = ParamSpec("P")
NEVER_S = 3600.0


def settled(number: int, size: int = 1_000) -> SettledVisit:
    """A page, and the document that it came in."""
    url, body = f"http://a.test/{number}", b"%d" % number * size
    response = Response(200, b"HTTP/1.1 200 OK\r\n", "1.1", {}, MemoryDocument(body))
    exchange = Exchange(
        response=response,
        trouble=Trouble.NONE,
        connected=True,
        address="127.0.0.1",
        request_head=b"GET / HTTP/1.1\r\n",
        started_s=1.7e9 + number,
        elapsed_s=0.1,
    )
    digest = sha1(body, usedforsecurity=False).digest()
    kept = ResponseCapture(
        url, exchange.started_s, "127.0.0.1", "1.1", exchange.request_head, response.head, response.document, digest
    )
    visit = Visit(Request(restore(url)), 0, "", 0, 1, "127.0.0.1", b"")
    return SettledVisit(
        visit, Outcome.STORED, "new", exchange.started_s, exchange, ParsedPage("text/html"), digest, captures=(kept,)
    )


def document(visit: SettledVisit) -> MemoryDocument:
    assert visit.exchange is not None
    assert visit.exchange.response is not None
    assert isinstance(visit.exchange.response.document, MemoryDocument)
    return visit.exchange.response.document


class FullDisk(Disk):
    """Refuses a file while it is full."""

    full = False

    def replace(self, source: Path, target: Path) -> None:
        if self.full:
            raise OSError(errno.ENOSPC, "No space left on device")
        super().replace(source, target)


def on_a_loop(test: Callable[P, Coroutine[Any, Any, None]]) -> Callable[P, None]:
    @wraps(test)
    def run(*args: P.args, **settings: P.kwargs) -> None:
        asyncio.run(test(*args, **settings))

    return run


@asynccontextmanager
async def opened(directory: Path, **config: Any) -> AsyncIterator[Journal]:
    state = RocksState(RocksConfig(directory=str(directory)))
    fields: dict[str, Any] = {"directory": str(directory), "every_s": NEVER_S, "reserve_bytes": 0}
    journal = Journal(JournalConfig(**(fields | config)))
    journal.bind("state", state)
    journal.bind("clock", SystemClock())
    await state.open()
    try:
        await journal.open()
        try:
            yield journal
        finally:
            await journal.close()
    finally:
        await state.close()


def urls(directory: Path) -> list[str]:
    return [row["url"] for row in rows(directory, "select url from pages order by fetched_at")]


@on_a_loop
async def test_what_was_added_before_a_checkpoint_is_durable_behind_it(tmp_path: Path) -> None:
    async with opened(tmp_path) as journal:
        journal.add(settled(1))
        assert (await journal.checkpoint()).number == 1 == read_committed(tmp_path).number
        assert (await journal.checkpoint()).number == 1, "nothing has come since"
        journal.add(settled(2))
        first, second = await asyncio.gather(journal.checkpoint(), journal.checkpoint())
        assert first.number == second.number == 2
    assert urls(tmp_path) == ["http://a.test/1", "http://a.test/2"]


@on_a_loop
async def test_a_checkpoint_waits_for_what_came_while_a_commit_was_under_way(tmp_path: Path) -> None:
    async with opened(tmp_path) as journal:
        journal.add(settled(1))
        first = asyncio.ensure_future(journal.checkpoint())
        await asyncio.sleep(0)
        journal.add(settled(2))
        assert (await journal.checkpoint()).number == 2
        assert first.done()
    assert urls(tmp_path) == ["http://a.test/1", "http://a.test/2"]


@on_a_loop
async def test_commits_are_told_in_order_when_they_are_published(tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    async with opened(tmp_path, group_visits=2) as journal:
        journal.after_commit(lambda number: told.append((number, read_committed(tmp_path).number)))
        for number in range(9):
            journal.add(settled(number))
            await asyncio.sleep(0)
        await journal.checkpoint()
    assert told == [(number, number) for number in range(1, len(told) + 1)]
    assert len(told) > 1


@on_a_loop
async def test_bodies_are_given_back_when_their_commit_is_durable_and_not_before(tmp_path: Path) -> None:
    async with opened(tmp_path) as journal:
        first, second = settled(1), settled(2)
        journal.add(first)
        done = asyncio.ensure_future(journal.checkpoint())
        await asyncio.sleep(0)
        journal.add(second)
        assert document(first).size
        await done
        with pytest.raises(ValueError, match="closed"):
            document(first).read()
        assert document(second).size


@on_a_loop
async def test_a_full_group_is_sealed_at_once_and_visits_are_never_split(tmp_path: Path) -> None:
    async with opened(tmp_path, group_bytes=4_000) as journal:
        commits: list[Committed] = []
        journal.after_commit(lambda _: commits.append(journal.last))
        for number in range(12):
            journal.add(settled(number, 1_000))
            await asyncio.sleep(0)
            if journal.behind:
                await journal.checkpoint()
        await journal.checkpoint()
        assert len(commits) >= 3
    found = rows(tmp_path, "select p.url, count(*) n from pages p join fetches f on p.url = f.url group by 1")
    assert {row["url"]: row["n"] for row in found} == {f"http://a.test/{number}": 1 for number in range(12)}


@on_a_loop
async def test_a_commit_that_the_disk_refuses_is_made_again_under_its_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = FullDisk()
    monkeypatch.setattr("whimbrel.commit.journal.Disk", lambda: disk)
    heard: list[str] = []
    async with opened(tmp_path, every_s=0.05) as journal:
        three_times = asyncio.Event()

        def hear() -> None:
            heard.append(journal.trouble)
            if heard.count("No space left on device") == 3:
                three_times.set()

        journal.listen(hear)
        numbers: list[int] = []
        journal.after_commit(numbers.append)
        journal.add(settled(1))
        await journal.checkpoint()
        disk.full = True
        journal.add(settled(2))
        done = asyncio.ensure_future(journal.checkpoint())
        await asyncio.wait_for(three_times.wait(), 20)
        assert journal.behind
        assert numbers == [1]
        disk.full = False
        assert (await done).number == 2
        assert (numbers, journal.trouble, journal.behind) == ([1, 2], "", False)
    assert heard.count("No space left on device") >= 3
    assert urls(tmp_path) == ["http://a.test/1", "http://a.test/2"]


@on_a_loop
async def test_a_crawl_that_ends_on_a_full_disk_says_so_and_loses_nothing_that_was_committed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = FullDisk()
    monkeypatch.setattr("whimbrel.commit.journal.Disk", lambda: disk)
    async with opened(tmp_path) as journal:
        journal.add(settled(1))
        await journal.checkpoint()
        disk.full = True
        with pytest.raises(JournalError, match="No space left"):
            await journal.conclude("done")
    disk.full = False
    async with opened(tmp_path) as journal:
        await journal.conclude("done")
    assert urls(tmp_path) == ["http://a.test/1"]


@on_a_loop
async def test_nothing_of_a_group_with_half_an_effect_becomes_durable(tmp_path: Path) -> None:
    async with opened(tmp_path) as journal:
        journal.add(settled(1))
        await journal.checkpoint()
        journal.add(settled(2))
        journal.abandon()
        assert (await journal.checkpoint()).number == 1
        assert journal.behind
    assert urls(tmp_path) == ["http://a.test/1"]


@on_a_loop
async def test_before_a_group_is_sealed_parts_write_down_what_they_keep(tmp_path: Path) -> None:
    async with opened(tmp_path) as journal:
        journal.before_seal(lambda: journal.add_event("test", "sealed", ""))
        journal.add(settled(1))
        await journal.checkpoint()
    assert rows(tmp_path, "select action from events") == [{"action": "sealed"}]


@on_a_loop
async def test_hurry_commits_without_waiting_for_the_next_time(tmp_path: Path) -> None:
    async with opened(tmp_path) as journal:
        committed = asyncio.get_running_loop().create_future()
        journal.after_commit(committed.set_result)
        journal.add(settled(1))
        journal.hurry()
        assert await asyncio.wait_for(committed, 10) == 1


@on_a_loop
async def test_hurry_while_a_commit_is_under_way_makes_another_right_behind_it(tmp_path: Path) -> None:
    async with opened(tmp_path) as journal:
        second = asyncio.get_running_loop().create_future()
        journal.after_commit(lambda number: second.set_result(number) if number == 2 else None)
        journal.add(settled(1))
        journal.hurry()
        await asyncio.sleep(0)
        journal.add(settled(2))
        journal.hurry()
        assert await asyncio.wait_for(second, 10) == 2
    assert urls(tmp_path) == ["http://a.test/1", "http://a.test/2"]


@on_a_loop
async def test_a_listener_that_left_is_not_called(tmp_path: Path) -> None:
    heard: list[str] = []
    listener: Callable[[], None] = lambda: heard.append("told")  # noqa: E731
    async with opened(tmp_path) as journal:
        journal.listen(listener)
        journal.unlisten(listener)
        journal.add(settled(1))
        await journal.checkpoint()
    assert heard == []
