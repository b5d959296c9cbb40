"""URLs that were captured several times: every capture is a row, the latest content is the page."""

import io
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

import pytest
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

import whimbrel
from tests.cli.command import run
from whimbrel.query.crawl_data import CrawlData

# warcio does not close its temporary files.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning")

HOME, COPY, ONCE, BACK = "https://a.test/", "https://b.test:8443/copy", "http://a.test/once", "http://a.test/back"
LONG = "words and words " * 100
THIRD, FOURTH = f"<title>third</title>{LONG}".encode(), f"<title>fourth</title>{LONG}".encode()
FIRST = f"<title>first</title><a href=/one>one</a><p>{LONG}</p>".encode()
SECOND = f"<title>second</title><a href=/two>two</a><p>{LONG}</p>".encode()


def at(hour: int) -> datetime:
    return datetime(2026, 1, 1, hour, tzinfo=UTC)


@dataclass
class Archive:
    """A WARC file under way; a record for each hour."""

    file: Path
    hour: int = 0
    digests: dict[bytes, str] = field(default_factory=dict)

    def __enter__(self) -> Self:
        self._out = self.file.open("wb")
        self._writer = WARCWriter(self._out, gzip=True)
        return self

    def __exit__(self, *_: object) -> None:
        self._out.close()

    def _next(self) -> dict[str, str]:
        self.hour += 1
        return {"WARC-Date": at(self.hour).strftime("%Y-%m-%dT%H:%M:%SZ")}

    def add(self, url: str, body: bytes, status: str = "200 OK") -> None:
        head = StatusAndHeaders(status, [("Content-Type", "text/html")], protocol="HTTP/1.1")
        record = self._writer.create_warc_record(
            url, "response", io.BytesIO(body), http_headers=head, warc_headers_dict=self._next()
        )
        self._writer.write_record(record)
        self.digests[body] = record.rec_headers.get_header("WARC-Payload-Digest")

    def add_not_modified(self, url: str, body: bytes) -> None:
        head = StatusAndHeaders("304 Not Modified", [], protocol="HTTP/1.1")
        record = self._writer.create_revisit_record(
            url, self.digests[body], url, at(1).isoformat(), http_headers=head, warc_headers_dict=self._next()
        )
        self._writer.write_record(record)


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("captures")
    with Archive(folder / "captures.warc.gz") as archive:
        archive.add(HOME, FIRST)
        archive.add_not_modified(HOME, FIRST)
        archive.add(COPY, FIRST)
        archive.add(HOME, SECOND)
        archive.add(HOME, SECOND)
        archive.add(HOME, b"nothing here", "404 Not Found")
        archive.add(ONCE, b"<title>once</title><a href=/three>three</a>")
        archive.add(BACK, THIRD)
        archive.add(BACK, FOURTH)
        archive.add(BACK, THIRD)
    done = run("import", str(archive.file), "--into", str(folder / "out"))
    assert done.code == 0, done.words
    return folder / "out"


@pytest.fixture
def opened(directory: Path) -> CrawlData:
    return whimbrel.open(directory)


def test_every_capture_is_a_row(opened: CrawlData) -> None:
    rows = opened.sql("SELECT url, status, via, fetched_at FROM captures ORDER BY fetched_at")
    statuses = [(HOME, 200), (HOME, 304), (COPY, 200), (HOME, 200), (HOME, 200), (HOME, 404), (ONCE, 200)]
    statuses += [(BACK, 200)] * 3
    assert list(rows) == [(url, status, "import", at(hour)) for hour, (url, status) in enumerate(statuses, 1)]
    ((ids, distinct),) = opened.sql("SELECT count(capture_id), count(DISTINCT capture_id) FROM captures")
    assert (ids, distinct) == (10, 10)
    rows = opened.sql("SELECT outcome FROM captures ORDER BY fetched_at")
    assert [outcome for (outcome,) in rows] == [
        "stored", "unchanged", "duplicate", "stored", "unchanged", "gone", "stored", "stored", "stored", "unchanged",
    ]  # fmt: skip


def test_a_page_is_the_latest_content_with_when_it_was_confirmed_and_found_gone(opened: CrawlData) -> None:
    rows = opened.sql("SELECT url, title, fetched_at, checked_at, gone_at FROM pages ORDER BY checked_at")
    assert list(rows) == [
        (COPY, "first", at(3), at(3), None), (HOME, "second", at(4), at(5), at(6)),
        (ONCE, "once", at(7), at(7), None), (BACK, "third", at(8), at(10), None),
    ]  # fmt: skip


def test_links_are_those_of_the_latest_content_and_all_are_in_the_history(opened: CrawlData) -> None:
    latest = opened.sql("SELECT p.url, l.target FROM links l JOIN pages p USING (capture_id) ORDER BY ALL")
    assert list(latest) == [
        (ONCE, "http://a.test/three"), (HOME, "https://a.test/two"), (COPY, "https://b.test:8443/one"),
    ]  # fmt: skip
    assert len(opened.sql("FROM links")) == 3
    assert list(opened.sql(f"SELECT DISTINCT target FROM links_history WHERE source = '{HOME}' ORDER BY 1")) == [  # noqa: S608
        ("https://a.test/one",), ("https://a.test/two",),
    ]  # fmt: skip


def test_body_and_headers_are_of_the_capture_that_pages_shows(opened: CrawlData) -> None:
    rows = opened.sql(f"SELECT title, body(url), headers(url)['content-type'] FROM pages WHERE url = '{BACK}'")  # noqa: S608
    assert list(rows) == [("third", THIRD, "text/html")]
    page = opened.get(BACK)
    assert page is not None
    assert page.body == THIRD


def test_two_contents_of_a_url_in_one_second_are_two_captures(tmp_path: Path) -> None:
    with Archive(tmp_path / "captures.warc.gz") as archive:
        for url, body in ((HOME, FIRST), (HOME, SECOND), (COPY, FIRST)):
            archive.hour = 0
            archive.add(url, body)
    done = run("import", str(archive.file), "--into", str(tmp_path / "out"))
    assert done.code == 0, done.words
    opened = whimbrel.open(tmp_path / "out")
    assert list(opened.sql("SELECT count(DISTINCT capture_id) FROM captures")) == [(3,)]
    assert list(opened.sql("SELECT url, title, body(url) FROM pages ORDER BY url")) == [
        (HOME, "second", SECOND), (COPY, "first", FIRST),
    ]  # fmt: skip
    assert list(opened.sql("SELECT target FROM links ORDER BY 1")) == [
        ("https://a.test/two",), ("https://b.test:8443/one",),
    ]  # fmt: skip
    assert len(opened.sql("FROM captures JOIN links_history USING (capture_id)")) == 3


def test_a_duplicate_names_the_capture_it_repeats_and_has_its_body_also_when_that_is_not_the_latest(
    opened: CrawlData,
) -> None:
    rows = opened.sql("""SELECT d.url, c.url, c.fetched_at, d.duplicate_of FROM captures d
                         JOIN captures c ON c.capture_id = d.duplicate_of_id""")
    assert list(rows) == [(COPY, HOME, at(1), HOME)]
    assert list(opened.sql(f"SELECT body(url) FROM pages WHERE url = '{COPY}'")) == [(FIRST,)]  # noqa: S608
    assert list(opened.sql(f"SELECT body(url), headers(url)['content-type'] FROM pages WHERE url = '{HOME}'")) == [  # noqa: S608
        (SECOND, "text/html")
    ]
    copy, home = opened.get(COPY), opened.get(HOME)
    assert copy is not None
    assert home is not None
    assert (copy.body, home.body) == (FIRST, SECOND)
    assert (home.row["checked_at"], home.row["gone_at"]) == (at(5), at(6))
    assert [(page.url, page.body) for page in opened.documents("title <> 'once'")] == [(HOME, SECOND), (BACK, THIRD)]


def test_the_site_of_a_url_has_its_port_and_the_host_has_none(opened: CrawlData) -> None:
    rows = opened.sql("SELECT url, site, host FROM pages ORDER BY url")
    assert list(rows) == [
        (BACK, "http://a.test:80", "a.test"), (ONCE, "http://a.test:80", "a.test"),
        (HOME, "https://a.test:443", "a.test"), (COPY, "https://b.test:8443", "b.test"),
    ]  # fmt: skip
    assert list(
        opened.sql("SELECT site('http://[::1]/'), site('https://[::1]:8443/x:9'), host('http://[::1]:80/')")
    ) == [("http://[::1]:80", "https://[::1]:8443", "[::1]")]
    ((same,),) = opened.sql(
        "SELECT count(*) FROM captures c JOIN fetches f USING (site, host, url) WHERE c.url = f.url"
    )
    assert same == 5 * 5 + 3 * 3 + 1 + 1


def test_verify_finds_nothing_wrong_with_several_captures(directory: Path) -> None:
    done = run("verify", str(directory))
    assert done.code == 0, done.words


def test_why_tells_of_every_capture(directory: Path) -> None:
    done = run("why", str(directory), HOME)
    assert done.out.count("capture kept in archive/") == 5
    assert "gone at 2026-01-01 06:00:00" in done.words
    story = run("why", str(directory), HOME, "--json").json()
    assert len(story["captures"]) == 5
    assert [page["title"] for page in story["page"]] == ["second"]


def test_reparse_looks_at_each_page_once_in_its_latest_content(directory: Path, tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(
        "import whimbrel as w\n\nclass Title(w.Item):\n    url: str\n    title: str\n\n"
        "@w.handler(mime='text/html')\ndef titles(page):\n    yield Title(page.url, page.title)\n"
    )
    done = run("reparse", str(directory), "--with", str(file), "--json")
    assert done.code == 0, done.words
    opened = whimbrel.open(directory)
    assert list(opened.sql("SELECT title, url FROM title ORDER BY title")) == [
        ("first", COPY), ("once", ONCE), ("second", HOME), ("third", BACK),
    ]  # fmt: skip
    joined = "SELECT count(*) FROM title_history t JOIN pages p ON p.capture_id = t._capture_id AND p.url = t._page"
    assert list(opened.sql(joined)) == [(4,)]
    assert list(opened.sql("SELECT count(*) FROM handled JOIN pages USING (capture_id, url)")) == [(4,)]
    assert run("verify", str(directory)).code == 0
