"""An import goes through the parts of a crawl: what it leaves in the state, the tables and the archive."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from warcio.archiveiterator import ArchiveIterator

import whimbrel as w
from tests.archive.sample import AT_S, capture, revisit
from tests.archive.test_cdxj import keep
from tests.cli.command import run
from tests.commit import format_1
from tests.effect.rig import rig
from whimbrel.archive.api import Capture, Reference
from whimbrel.commit.committed import read_committed
from whimbrel.state.option import RocksConfig
from whimbrel.state.rocks import RocksState
from whimbrel.url import restore

# warcio does not close its temporary files.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning")

PAGE = "https://a.test/page"
FIRST = b"<title>first</title><a href=/next>next</a><p>" + b"words and words " * 30
SECOND = b"<title>second</title><p>" + b"other words " * 40
BUSY = b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 3600\r\n"


@pytest.fixture
def warc(tmp_path: Path) -> Path:
    """A page captured five times, its twin, and an answer that asks to come again."""
    (tmp_path / "theirs").mkdir()
    first = Reference(PAGE, AT_S)
    captures: list[Capture] = [
        capture(FIRST, 0, url=PAGE, at_s=AT_S),
        capture(FIRST, 1, url=PAGE, at_s=AT_S + 100),
        revisit(2, None, "server-not-modified", url=PAGE, at_s=AT_S + 200),
        capture(SECOND, 3, url=PAGE, at_s=AT_S + 300),
        revisit(4, first, body=FIRST, url=PAGE, at_s=AT_S + 400),
        capture(FIRST, 5, url="https://b.test/twin", at_s=AT_S + 500),
        capture(b"busy", 6, url="https://b.test/busy", at_s=AT_S + 600, response_head=BUSY),
    ]
    (segment,) = keep(tmp_path / "theirs", captures)
    return segment


class Title(w.Item, key="url"):
    url: str
    title: str


def titles(one: w.Page) -> Iterator[Title]:
    yield Title(one.url, one.title)


def answers(directory: Path) -> list[str]:
    """The kinds of the archive's records that hold answers, as another library reads them."""
    with next((directory / "archive").glob("*.warc.gz")).open("rb") as file:
        kinds = [record.rec_type for record in ArchiveIterator(file)]
    return [kind for kind in kinds if kind in ("response", "revisit")]


def imported(warc: Path, directory: Path) -> Path:
    done = run("import", str(warc), "--into", str(directory), "--json")
    assert done.code == 0, done.words
    return directory


def test_each_capture_of_a_url_is_judged_as_a_crawl_judges_it(warc: Path, tmp_path: Path) -> None:
    out = imported(warc, tmp_path / "out")
    rows = w.open(out).sql("SELECT url, outcome, reason FROM fetches ORDER BY started_at")
    assert list(rows) == [
        (PAGE, "stored", "new"),
        (PAGE, "unchanged", "same-payload"),
        (PAGE, "unchanged", "http-304"),
        (PAGE, "stored", "new"),
        (PAGE, "unchanged", "same-payload"),
        ("https://b.test/twin", "duplicate", "same-payload"),
        ("https://b.test/busy", "failed", "http-503"),
    ]
    assert answers(out) == ["response", "revisit", "revisit", "response", "revisit", "revisit", "response"]
    assert run("verify", str(out)).code == 0


def test_every_capture_is_a_row_and_the_page_is_the_one_whose_content_was_confirmed_last(
    warc: Path, tmp_path: Path
) -> None:
    opened = w.open(imported(warc, tmp_path / "out"))
    rows = opened.sql("SELECT epoch(fetched_at), outcome, via FROM captures WHERE url LIKE '%/page' ORDER BY 1")
    outcomes = ("stored", "unchanged", "unchanged", "stored", "unchanged")
    assert list(rows) == [(AT_S + 100 * number, outcome, "import") for number, outcome in enumerate(outcomes)]
    question = "SELECT title, epoch(fetched_at), epoch(checked_at), gone_at FROM pages WHERE url LIKE '%/page'"
    assert list(opened.sql(question)) == [("first", AT_S, AT_S + 400, None)]
    assert list(opened.sql("SELECT DISTINCT source, target FROM links WHERE source LIKE '%/page'")) == [
        (PAGE, "https://a.test/next")
    ]


def test_captures_of_a_url_that_was_captured_before_are_counted(warc: Path, tmp_path: Path) -> None:
    counters = read_committed(imported(warc, tmp_path / "out")).counters
    assert (counters.visits, counters.recaptured, counters.queued, counters.refused) == (7, 4, 0, {})
    assert counters.statuses == {"200": 5, "304": 1, "503": 1}


def test_url_seen_knows_what_was_imported_and_not_what_it_links_to(warc: Path, tmp_path: Path) -> None:
    out = imported(warc, tmp_path / "out")

    async def scene() -> None:
        async with rig(out, "https://c.test/") as one:
            urls = (PAGE, "https://b.test/twin", "https://b.test/busy", "https://a.test/next")
            assert [one.frontier.remember(restore(url)) for url in urls] == [False, False, False, True]
            assert one.frontier.queued == 0

    asyncio.run(scene())


def test_all_that_works_on_a_crawl_works_on_an_import(warc: Path, tmp_path: Path) -> None:
    out = imported(warc, tmp_path / "out")
    assert run("query", str(out), "select count(*) from pages", "--format", "csv").out.splitlines()[-1] == "2"
    found = run("get", str(out), "https://b.test/twin")
    assert (found.code, "first" in found.out) == (0, True)
    crawl = w.Crawl()
    crawl.parse()(titles)
    assert crawl.reparse(out).failed == 0
    items = w.open(out).sql("SELECT url, title FROM title ORDER BY url")
    assert list(items) == [(PAGE, "first"), ("https://b.test/twin", "first")]
    why = run("why", str(out), PAGE)
    assert (why.code, "unchanged" in why.out) == (0, True)
    assert run("status", str(out), "--json").json()["state"] == "done"
    events = w.open(out).sql('SELECT actor, action FROM events ORDER BY "at"')
    assert list(events) == [("import", "started"), ("import", "done"), ("handlers", "code"), ("reparse", "done")]


def test_the_wiring_of_an_import_can_be_drawn() -> None:
    drawn = run("graph", "import")
    assert drawn.code == 0
    assert "no-route\n  .routed ──direct──▶ archivist.routed" in drawn.out


def begin(warc: Path, directory: Path) -> None:
    """As an import of this file that took nothing yet."""
    listed = [{"file": str(warc.resolve()), "bytes": warc.stat().st_size}]
    (directory / "import.json").write_bytes(msgspec.json.encode(listed))


def test_an_import_into_a_directory_that_is_in_use_is_told(warc: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    begin(warc, out)
    state = RocksState(RocksConfig(directory=str(out)))
    asyncio.run(state.open())
    busy = run("import", str(warc), "--into", str(out))
    asyncio.run(state.close())
    assert busy.code == 2
    assert "Traceback" not in busy.words
    assert run("import", str(warc), "--into", str(out)).code == 0, "nothing has changed"


def test_an_import_that_an_earlier_version_began_goes_on(warc: Path, tmp_path: Path) -> None:
    out = format_1.empty(tmp_path / "out")
    begin(warc, out)
    assert run("import", str(warc), "--into", str(out), "--json").json()["captures"] == 7
    assert run("verify", str(out)).code == 0
