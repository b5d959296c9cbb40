"""Crawls from Python: run, events, several at once, options."""

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import get_type_hints

import pytest

import whimbrel
from tests.job.site import page, served
from whimbrel.job.crawl import CrawlError
from whimbrel.job.options import CrawlOptions, OptionError
from whimbrel.program.keyword import Keywords

PAGES = {
    "/robots.txt": (404, {}, ""),
    "/": page(*(f"/{number}" for number in range(8)), title="home"),
    **{f"/{number}": page("/", f"/{number}/more", title=f"page {number}") for number in range(8)},
}
OWN = {"delay": 0.0, "allow_network": ["127.0.0.0/8"]}


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    with served(PAGES) as port:
        yield f"http://127.0.0.1:{port}/"


def own(site: str, **more: object) -> whimbrel.Crawl:
    return whimbrel.Crawl(site, **OWN, **more)  # type: ignore[arg-type]


def test_a_crawl_runs_and_answers(site: str, tmp_path: Path) -> None:
    shown: list[whimbrel.Progress] = []
    result = own(site).run(tmp_path / "out", show=shown.append)
    assert result.state == "done"
    assert result.progress.outcomes == {"stored": 9, "gone": 8}
    assert list(result.sql("SELECT count(*) FROM pages")) == [(9,)]
    assert shown[-1].visited == 17
    assert "done: 17 visits" in repr(result)
    found = result.get(site + "7")
    assert found is not None
    assert b"page 7" in found.body
    assert (result.failures, result.limit) == ([], "")


def test_the_speed_of_a_run_is_that_of_the_whole_run_and_of_no_other(site: str, tmp_path: Path) -> None:
    first = own(site, max_pages=5, max_pages_per_s=10.0).run(tmp_path / "out").progress
    assert first.pages_per_s == pytest.approx(first.visited / first.elapsed_s)
    again = own(site, max_pages=1000).run(tmp_path / "out", resume=True).progress
    assert again.pages_per_s == pytest.approx((again.visited - first.visited) / again.elapsed_s)


def test_a_directory_is_not_crawled_into_twice_but_can_be_resumed(site: str, tmp_path: Path) -> None:
    first = own(site, max_pages=5).run(tmp_path / "out")
    assert (first.state, first.limit) == ("stopped", "--max-pages 5")
    with pytest.raises(CrawlError, match="holds a crawl"):
        own(site).run(tmp_path / "out")
    again = own(site, max_pages=1000).run(tmp_path / "out", resume=True)
    assert again.state == "done"
    assert list(again.sql("SELECT count(*), count(DISTINCT url) FROM pages")) == [(9, 9)]
    assert own(site).run(tmp_path / "new", resume=True).state == "done"


def test_events_tell_what_happens(site: str, tmp_path: Path) -> None:
    async def listen() -> list[object]:
        return [event async for event in own(site).events(tmp_path / "out")]

    events = asyncio.run(listen())
    assert isinstance(events[-1], whimbrel.CrawlResult)
    assert events[-1].state == "done"
    assert any(isinstance(event, whimbrel.Progress) for event in events)


def test_who_stops_listening_stops_the_crawl(site: str, tmp_path: Path) -> None:
    crawl = whimbrel.Crawl(site, delay="0.3s", allow_network=["127.0.0.0/8"])

    async def leave() -> None:
        events = crawl.events(tmp_path / "out")
        async for _ in events:
            break
        await events.aclose()  # type: ignore[attr-defined]

    asyncio.run(leave())
    opened = whimbrel.open(tmp_path / "out")
    assert list(opened.sql('SELECT action FROM events ORDER BY "at" DESC LIMIT 1')) == [("stopped",)]
    assert own(site).run(tmp_path / "out", resume=True).state == "done"


def test_trouble_of_a_crawl_reaches_who_listens(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").touch()

    async def listen() -> None:
        async for _ in own("http://127.0.0.1:9/").events(tmp_path / "out"):
            pass

    with pytest.raises(CrawlError, match="not an empty directory"):
        asyncio.run(listen())


def test_several_crawls_go_side_by_side(site: str, tmp_path: Path) -> None:
    async def both() -> list[whimbrel.CrawlResult]:
        async def one(name: str) -> whimbrel.CrawlResult:
            last: object = None
            async for event in own(site).events(tmp_path / name):
                last = event
            assert isinstance(last, whimbrel.CrawlResult)
            return last

        return list(await asyncio.gather(one("a"), one("b")))

    results = asyncio.run(both())
    assert [result.progress.outcomes for result in results] == [{"stored": 9, "gone": 8}] * 2
    joined = whimbrel.open(tmp_path / "a", tmp_path / "b").sql("SELECT count(*) FROM pages a JOIN pages b USING (url)")
    assert list(joined) == [(9 * 4,)]


def test_a_crawl_runs_where_there_is_an_event_loop_or_no_main_thread(site: str, tmp_path: Path) -> None:
    async def notebook() -> str:
        return own(site).run(tmp_path / "a").state

    assert asyncio.run(notebook()) == "done"
    states: list[str] = []
    thread = threading.Thread(target=lambda: states.append(own(site).run(tmp_path / "b").state))
    thread.start()
    thread.join()
    assert states == ["done"]


def test_options_are_those_of_the_command_line(site: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert set(get_type_hints(Keywords)) == set(CrawlOptions.__struct_fields__) - {"seeds", "handlers"}
    with pytest.raises(OptionError, match="did you mean max_pages"):
        own(site, max_page=3)
    with pytest.raises(OptionError, match="'wide' is none of"):
        own(site, scope="wide")
    job = tmp_path / "job.toml"
    job.write_text(f'seeds = ["{site}"]\nmax_pages = 3\ndelay = 0.0\nallow_network = ["127.0.0.0/8"]\n')
    assert whimbrel.Crawl(job=job).run(tmp_path / "a").progress.visited == 3
    assert whimbrel.Crawl(job=job, max_pages=4).run(tmp_path / "b").progress.visited == 4
    monkeypatch.setenv("WHIMBREL_MAX_PAGES", "2")
    assert own(site).run(tmp_path / "c").progress.visited == 2
