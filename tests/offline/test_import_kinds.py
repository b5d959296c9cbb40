"""What kinds of records an import keeps, and that nothing is made up for them."""

from pathlib import Path
from typing import NamedTuple

import pytest
from warcio.archiveiterator import ArchiveIterator

import whimbrel as w
from tests.archive.sample import AT_S, conversion, every_kind, metadata, resource, revisit
from tests.archive.test_cdxj import keep
from tests.cli.command import run
from whimbrel.archive.api import Capture, Reference

# warcio does not close its temporary files.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning")

LONG = b"<title>file</title><a href=/next>next</a><p>" + b"words and words " * 30


class _Found(NamedTuple):
    kind: str
    record_id: str
    url: str | None
    date: str
    content_type: str
    refers_to: str | None
    profile: str | None
    truncated: str | None
    head: str
    payload: bytes


def _records(directory: Path) -> list[_Found]:
    """All but the first, of every segment, as another library reads them; the ids of those beside are ours."""
    found = []
    for segment in sorted((directory / "archive").glob("*.warc.gz")):
        with segment.open("rb") as file:
            for record in ArchiveIterator(file):
                headers, beside = record.rec_headers, record.rec_headers.get_header("WARC-Concurrent-To")
                found.append(
                    _Found(
                        record.rec_type,
                        beside or headers.get_header("WARC-Record-ID"),
                        headers.get_header("WARC-Target-URI"),
                        headers.get_header("WARC-Date"),
                        headers.get_header("Content-Type"),
                        headers.get_header("WARC-Refers-To"),
                        headers.get_header("WARC-Profile"),
                        headers.get_header("WARC-Truncated"),
                        "" if record.http_headers is None else str(record.http_headers),
                        record.raw_stream.read(),
                    )
                )
    return [one for one in found if one.kind != "warcinfo"]


def _import(tmp_path: Path, captures: list[Capture]) -> Path:
    (tmp_path / "first").mkdir()
    (segment,) = keep(tmp_path / "first", captures)
    done = run("import", str(segment), "--into", str(tmp_path / "second"), "--json")
    assert done.code == 0, done.words
    assert (done.json()["captures"], done.json()["passed_over"]) == (len(captures), 0)
    assert run("verify", str(tmp_path / "second")).code == 0
    return tmp_path / "second"


def test_every_kind_of_record_comes_through_an_import_as_it_was(tmp_path: Path) -> None:
    again = _import(tmp_path, every_kind())
    assert sorted(_records(again), key=str) == sorted(_records(tmp_path / "first"), key=str)
    kinds = {one.kind for one in _records(again)}
    assert kinds == {"response", "request", "revisit", "resource", "conversion", "metadata"}


def test_a_resource_is_a_page_without_http(tmp_path: Path) -> None:
    again = _import(tmp_path, [resource(LONG, url="http://a.test/file")])
    crawl = w.open(again)
    question = "SELECT status, mime, title, digest <> '', decode(body(url)) FROM pages"
    assert list(crawl.sql(question)) == [(0, "text/html", "file", True, LONG.decode())]
    assert list(crawl.sql("SELECT target FROM links")) == [("http://a.test/next",)]
    assert list(crawl.sql("SELECT outcome, reason, status FROM fetches")) == [("stored", "new", 0)]
    found = crawl.get("http://a.test/file")
    assert found is not None
    assert (found.status, found.headers, found.http_head, found.body) == (0, {}, b"", LONG)
    assert [one.kind for one in _records(again)] == ["resource"]


def test_what_was_no_visit_makes_no_rows(tmp_path: Path) -> None:
    nowhere = Reference("http://a.test/nowhere", AT_S)
    again = _import(
        tmp_path,
        [conversion(number=1), metadata(number=2), resource(number=3, url="urn:x:y"), revisit(4, nowhere, body=LONG)],
    )
    crawl = w.open(again)
    assert list(crawl.sql("SELECT count(*) FROM pages")) == list(crawl.sql("SELECT count(*) FROM fetches")) == [(0,)]
    assert [one.kind for one in _records(again)][:2] == ["conversion", "metadata"]


def test_a_server_that_said_not_modified_is_a_visit_without_change(tmp_path: Path) -> None:
    again = _import(tmp_path, [revisit(1, None, "server-not-modified")])
    assert list(w.open(again).sql("SELECT outcome, reason FROM fetches")) == [("unchanged", "http-304")]
