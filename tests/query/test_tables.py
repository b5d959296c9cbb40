"""What the tables of a real crawl say, and how they join."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import whimbrel
from tests.cli.command import run
from tests.job.site import page, served
from whimbrel.control.status import HostView
from whimbrel.query.crawl_data import CrawlData
from whimbrel.url import SLOTS

ROOT = Path(__file__).parent.parent.parent
PAGES = {
    "/robots.txt": (404, {}, ""),
    "/": page("/a", "/long/" + "x" * 3_000, "/gone", title="home"),
    "/a": page("/", title="a"),
}


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CrawlData]:
    directory = tmp_path_factory.mktemp("tables") / "out"
    with served(PAGES) as port:
        command = ["crawl", f"http://127.0.0.1:{port}", "--into", str(directory), "--delay", "0s"]
        done = run(*command, "--allow-network", "127.0.0.0/8")
        assert done.code == 0, done.words
        yield whimbrel.open(directory)


def test_the_host_of_a_visit_is_a_name_also_when_a_limit_dropped_it(crawl: CrawlData) -> None:
    rows = crawl.sql(
        "SELECT outcome, count(*), any_value(host), count(DISTINCT host) FROM fetches GROUP BY ALL ORDER BY 1"
    )
    assert list(rows) == [("dropped", 1, "127.0.0.1", 1), ("gone", 1, "127.0.0.1", 1), ("stored", 2, "127.0.0.1", 1)]


def test_a_page_has_one_row_of_its_host(crawl: CrawlData) -> None:
    rows = crawl.sql("SELECT p.title, h.fetched FROM pages p JOIN hosts h USING (site) ORDER BY 1")
    assert [title for title, _ in rows] == ["a", "home"]
    by_name = crawl.sql("SELECT p.title, h.site FROM pages p JOIN hosts h USING (host) ORDER BY 1")
    ((site,),) = crawl.sql("SELECT site FROM hosts WHERE host = '127.0.0.1'")
    assert list(by_name) == [("a", site), ("home", site)]
    assert list(crawl.sql("SELECT DISTINCT f.site, h.host FROM fetches f JOIN hosts h USING (site)")) == [
        (site, "127.0.0.1")
    ]


def test_an_answer_that_is_no_page_is_a_capture(crawl: CrawlData) -> None:
    rows = crawl.sql("SELECT outcome, via, count(*) FROM captures GROUP BY ALL ORDER BY 1")
    assert list(rows) == [("gone", "fetch", 1), ("stored", "fetch", 2)]
    assert list(crawl.sql("SELECT count(*) FROM pages")) == [(2,)]


def test_slots_are_documented_as_many_as_there_are() -> None:
    said = f"Of {SLOTS:,}, by which hosts are shared out."
    assert "slot" in HostView.__struct_fields__
    assert said in (ROOT / "docs" / "python.md").read_text()
