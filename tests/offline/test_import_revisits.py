"""Revisits that others wrote: of short documents, of redirects, and before the record that they refer to."""

import hashlib
import io
from base64 import b32encode
from pathlib import Path
from typing import Any

import pytest
from warcio.archiveiterator import ArchiveIterator
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

import whimbrel as w
from tests.cli.command import run

# warcio does not close its temporary files.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning")

SHORT, LONG = b"<title>short</title>", b"<title>long</title>" + b"words and words " * 100


def _response(writer: WARCWriter, url: str, body: bytes, day: int, status: str = "200 OK") -> None:
    head = StatusAndHeaders(status, [("Content-Type", "text/html"), ("Location", "/x")], protocol="HTTP/1.1")
    dated = {"WARC-Date": f"2026-01-{day:02}T00:00:00Z"}
    writer.write_record(
        writer.create_warc_record(url, "response", io.BytesIO(body), http_headers=head, warc_headers_dict=dated)
    )


def _revisit(writer: WARCWriter, url: str, body: bytes, of: str, day: int, status: str = "200 OK") -> None:
    head = StatusAndHeaders(status, [("Content-Type", "text/html"), ("Location", "/x")], protocol="HTTP/1.1")
    digest = "sha1:" + b32encode(hashlib.sha1(body, usedforsecurity=False).digest()).decode()
    dated = {"WARC-Date": f"2026-01-{day:02}T00:00:00Z"}
    writer.write_record(
        writer.create_revisit_record(
            url, digest, of, "2026-01-01T00:00:00Z", http_headers=head, warc_headers_dict=dated
        )
    )


def _imported(file: Path, directory: Path) -> list[tuple[Any, ...]]:
    done = run("import", str(file), "--into", str(directory))
    assert done.code == 0, done.words
    done = run("verify", str(directory))
    assert done.code == 0, done.words
    rows = w.open(directory).sql("SELECT url, outcome, duplicate_of, body(url) FROM captures ORDER BY url, fetched_at")
    return list(rows)


def _kinds(directory: Path) -> list[str]:
    with next((directory / "archive").glob("*.warc.gz")).open("rb") as file:
        return [record.rec_type for record in ArchiveIterator(file)][1:]


def test_a_revisit_of_a_short_document_stays_one_and_brings_nothing_new(tmp_path: Path) -> None:
    with (tmp_path / "short.warc.gz").open("wb") as out:
        writer = WARCWriter(out, gzip=True)
        _response(writer, "http://a.test/", SHORT, 1)
        _revisit(writer, "http://a.test/", SHORT, "http://a.test/", 2)
        _revisit(writer, "http://a.test/copy", SHORT, "http://a.test/", 3)
    assert _imported(tmp_path / "short.warc.gz", tmp_path / "out") == [
        ("http://a.test/", "stored", "", SHORT),
        ("http://a.test/", "unchanged", "", SHORT),
        ("http://a.test/copy", "duplicate", "http://a.test/", SHORT),
    ]
    assert _kinds(tmp_path / "out") == ["response", "revisit", "revisit"]


def test_a_revisit_of_a_document_longer_than_a_buffer_is_read_whole(tmp_path: Path) -> None:
    body = b"<title>large</title>" + hashlib.shake_128(b"large").digest(300_000)
    with (tmp_path / "large.warc.gz").open("wb") as out:
        writer = WARCWriter(out, gzip=True)
        _response(writer, "http://a.test/", body, 1)
        _revisit(writer, "http://a.test/", body, "http://a.test/", 2)
        _revisit(writer, "http://a.test/copy", body, "http://a.test/", 3)
    assert _imported(tmp_path / "large.warc.gz", tmp_path / "out") == [
        ("http://a.test/", "stored", "", body),
        ("http://a.test/", "unchanged", "", body),
        ("http://a.test/copy", "duplicate", "http://a.test/", body),
    ]


def test_a_revisit_may_come_before_the_record_that_it_refers_to(tmp_path: Path) -> None:
    with (tmp_path / "before.warc.gz").open("wb") as out:
        writer = WARCWriter(out, gzip=True)
        _revisit(writer, "http://a.test/copy", LONG, "http://a.test/", 2)
        _revisit(writer, "http://a.test/", LONG, "http://a.test/", 3)
        _response(writer, "http://a.test/", LONG, 1)
    assert _imported(tmp_path / "before.warc.gz", tmp_path / "out") == [
        ("http://a.test/", "stored", "", LONG),
        ("http://a.test/", "unchanged", "", LONG),
        ("http://a.test/copy", "duplicate", "http://a.test/", LONG),
    ]
    assert _kinds(tmp_path / "out") == ["revisit", "revisit", "response"]


def test_a_revisit_of_a_redirect_stays_one(tmp_path: Path) -> None:
    with (tmp_path / "moved.warc.gz").open("wb") as out:
        writer = WARCWriter(out, gzip=True)
        _response(writer, "http://a.test/", b"moved", 1, "301 Moved")
        _revisit(writer, "http://a.test/", b"moved", "http://a.test/", 2, "301 Moved")
    assert _imported(tmp_path / "moved.warc.gz", tmp_path / "out") == [("http://a.test/", "redirected", "", None)] * 2
    assert _kinds(tmp_path / "out") == ["response", "revisit"]
