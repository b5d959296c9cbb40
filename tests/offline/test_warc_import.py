"""Crawls made of WARC files: our own, warcio's and wget's."""

import gzip
import io
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from warcio.archiveiterator import ArchiveIterator
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

import whimbrel as w
from tests.cli.command import run
from tests.job.site import moved, page, served
from whimbrel.commit.committed import NotACrawl, read_committed

LONG = "words and words " * 100
HTML = {"Content-Type": "text/html; charset=utf-8"}
TWIN = (200, {**HTML, "ETag": '"t"'}, f"<title>twin</title><a href='/x'>x</a><p>{LONG}</p>")
PAGES = {
    "/robots.txt": (404, {}, ""),
    "/": page("/twin", "/other", "/moved", "/gone", "/packed", "/data.json", title="home"),
    "/twin": TWIN,
    "/other": TWIN,
    "/moved": moved("/twin"),
    "/packed": (
        200,
        {**HTML, "Content-Encoding": "gzip"},
        gzip.compress(b"<title>packed</title><a href=/y>y</a>" * 20),
    ),
    "/data.json": (200, {"Content-Type": "application/json"}, '{"a": 1}'),
    "/x": page(title="x"),
    "/y": page(title="y"),
}
FACTS = (
    "SELECT url, host, status, mime, charset, length, wire_bytes, title, description, language, canonical, "
    "robots_meta, depth, fetched_at, etag, last_modified, digest, fingerprint, duplicate_of, truncated, text "
    "FROM pages ORDER BY url"
)


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    with served(PAGES) as port:
        yield f"http://127.0.0.1:{port}"


def test_a_crawl_comes_back_from_its_own_archive(site: str, tmp_path: Path) -> None:
    first = w.Crawl(site, delay=0.0, allow_network=["127.0.0.0/8"]).run(tmp_path / "out")
    archives = sorted(map(str, (tmp_path / "out" / "archive").glob("*.warc.gz")))
    done = run("import", *archives, "--into", str(tmp_path / "again"), "--json")
    assert done.code == 0, done.words
    assert done.json()["passed_over"] == 0
    second = w.open(tmp_path / "again")
    assert list(second.sql(FACTS)) == list(first.sql(FACTS))
    links = "SELECT * FROM links ORDER BY ALL"
    assert list(second.sql(links)) == list(first.sql(links))
    fetches = "SELECT url, outcome, reason, status, bytes, redirect_to, discovered_from FROM fetches ORDER BY url"
    assert list(second.sql(fetches)) == list(first.sql(fetches))
    assert run("verify", str(tmp_path / "again")).code == 0
    found = second.get(f"{site}/other")
    assert found is not None
    assert b"twin" in found.body
    assert run("import", *archives, "--into", str(tmp_path / "again")).code == 2


# warcio does not close its temporary files.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning")
def test_what_warcio_wrote(tmp_path: Path) -> None:
    file = tmp_path / "by-warcio.warc.gz"
    with file.open("wb") as out:
        writer = WARCWriter(out, gzip=True)
        head = StatusAndHeaders(
            "200 OK", [("Content-Type", "text/html"), ("Transfer-Encoding", "chunked")], protocol="HTTP/1.1"
        )
        body = b"<title>one</title><a href=/two>two</a>"
        chunked = b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)
        writer.write_record(
            writer.create_warc_record("http://a.test/", "response", io.BytesIO(chunked), http_headers=head)
        )
        writer.write_record(
            writer.create_warc_record(
                "dns:a.test", "response", io.BytesIO(b"20260101 a.test"), warc_content_type="text/dns"
            )
        )
        resource = io.BytesIO(b"<title>three</title>")
        writer.write_record(
            writer.create_warc_record("http://a.test/3", "resource", resource, warc_content_type="text/html")
        )
    done = run("import", str(file), "--into", str(tmp_path / "out"), "--json")
    assert done.code == 0, done.words
    assert done.json()["passed_over"] == 1
    rows = w.open(tmp_path / "out").sql("SELECT url, title, decode(body(url)) FROM pages ORDER BY url")
    assert list(rows) == [
        ("http://a.test/", "one", body.decode()),
        ("http://a.test/3", "three", "<title>three</title>"),
    ]
    assert list(w.open(tmp_path / "out").sql("SELECT target FROM links")) == [("http://a.test/two",)]


@pytest.mark.skipif(shutil.which("wget") is None, reason="wget is not installed")
def test_what_wget_wrote(site: str, tmp_path: Path) -> None:
    command = [
        "wget",
        "-q",
        "-r",
        "-l",
        "2",
        "--warc-file",
        str(tmp_path / "by-wget"),
        "-P",
        str(tmp_path / "files"),
        site + "/",
    ]
    subprocess.run(command, check=False, capture_output=True, timeout=60)
    done = run("import", str(tmp_path / "by-wget.warc.gz"), "--into", str(tmp_path / "out"))
    assert done.code == 0, done.words
    titles = {title for (title,) in w.open(tmp_path / "out").sql("SELECT title FROM pages WHERE mime = 'text/html'")}
    assert {"home", "twin", "packed", "x"} <= titles
    assert run("verify", str(tmp_path / "out")).code == 0


def test_what_is_no_warc_is_told(tmp_path: Path) -> None:
    file = tmp_path / "not.warc.gz"
    file.write_bytes(b"hello")
    done = run("import", str(file), "--into", str(tmp_path / "out"))
    assert done.code == 1
    assert "not.warc.gz" in done.words
    missing = run("import", str(tmp_path / "none"), "--into", str(tmp_path / "out"))
    assert missing.code == 1
    assert not (tmp_path / "out").exists()


KILLS = 3


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning")
def test_an_import_that_is_killed_goes_on_where_it_was(tmp_path: Path) -> None:
    files = [str(tmp_path / name) for name in ("first.warc.gz", "second.warc.gz")]
    for part, file in enumerate(files):
        _write_many(Path(file), part)
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    assert run("import", *files, "--into", str(whole)).code == 0
    command = [sys.executable, "-m", "whimbrel", "import", *files, "--into", str(killed)]
    for _ in range(KILLS):
        before = _commits(killed)
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
            while _commits(killed) <= before:
                assert process.poll() is None, "it was too fast to be killed"
            process.kill()
    assert read_committed(killed).counters.visits < 2 * MANY
    _fails_while_unreadable(Path(files[1]), files, killed)
    other = run("import", files[1], files[0], "--into", str(killed))
    assert (other.code, "other files" in other.words) == (2, True)
    (killed / "import.json").write_bytes(b"")  # As a kill of an earlier version could leave it.
    done = run("import", *files, "--into", str(killed), "--json")
    assert done.code == 0, done.words
    loose = 2 * MANY // LOOSE_EVERY
    assert done.json() == {"files": 2, "captures": 2 * MANY + loose, "pages": 2 * MANY, "passed_over": loose}
    assert _records(killed) == _records(whole)
    for question in (
        FACTS,
        "SELECT * FROM links ORDER BY ALL",
        "SELECT url, outcome, reason FROM fetches ORDER BY url",
    ):
        assert list(w.open(killed).sql(question)) == list(w.open(whole).sql(question))
    events = w.open(killed).sql("SELECT action FROM events WHERE actor = 'import'")
    assert {action for (action,) in events} >= {"started", "resumed", "done"}
    assert run("verify", str(killed)).code == 0


def _fails_while_unreadable(file: Path, files: list[str], directory: Path) -> None:
    before, content = read_committed(directory), file.read_bytes()
    file.write_bytes(b"?" * len(content))
    failed = run("import", *files, "--into", str(directory))
    assert (failed.code, file.name in failed.words) == (1, True)
    assert read_committed(directory) == before
    file.write_bytes(content)


def _records(directory: Path) -> Counter[tuple[str, str]]:
    """What the archive holds: each kind of record of each URL, and how often."""
    found: Counter[tuple[str, str]] = Counter()
    for segment in (directory / "archive").glob("*.warc.gz"):
        with segment.open("rb") as file:
            found.update(
                (record.rec_type, record.rec_headers.get_header("WARC-Target-URI") or "")
                for record in ArchiveIterator(file)
                if record.rec_type != "warcinfo"
            )
    return found


def _commits(directory: Path) -> int:
    try:
        return read_committed(directory).number
    except NotACrawl:
        return 0


MANY = 1_500
LOOSE_EVERY = 10


def _write_many(file: Path, part: int) -> None:
    """Pages of 30 KB, one in ten a revisit of the one before; and among them conversions and names in DNS."""
    with file.open("wb") as out:
        writer = WARCWriter(out, gzip=True)
        digest = ""
        for number in range(MANY):
            url = f"http://a.test/{part}/{number}"
            if number % LOOSE_EVERY == 0:
                _write_loose(writer, url)
            head = StatusAndHeaders("200 OK", [("Content-Type", "text/html")], protocol="HTTP/1.1")
            if number % 10 == 9:
                record = writer.create_revisit_record(url, digest, "http://a.test/", "2026-01-01T00:00:00Z", head)
            else:
                words = " ".join(f"word{part}x{number}x{each}" for each in range(2_000))
                body = f"<title>{number}</title><a href=/{part}/{number + 1}>next</a><p>{words}</p>".encode()
                record = writer.create_warc_record(url, "response", io.BytesIO(body), http_headers=head)
            writer.write_record(record)
            digest = record.rec_headers.get_header("WARC-Payload-Digest")


def _write_loose(writer: WARCWriter, url: str) -> None:
    """What is no visit."""
    dns, text = io.BytesIO(b"20260101 a.test"), io.BytesIO(b"words")
    writer.write_record(writer.create_warc_record("dns:a.test", "response", dns, warc_content_type="text/dns"))
    writer.write_record(writer.create_warc_record(url, "conversion", text, warc_content_type="text/plain"))


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize(
    ("date", "fields"),
    [
        ("2026-01-01T00:00:00Z", b"hopsFromSeed: 99999999999\r\n"),
        ("2026-01-01T00:00:00Z", b"hopsFromSeed: " + b"9" * 5000 + b"\r\n"),
        ("2026-01-01T00:00:00Z", b"fetchTimeMs: " + b"9" * 400 + b"\r\n"),
        ("0001-01-01T00:00:00+14:00", b"via: nowhere\r\n"),
        ("yesterday", b": \r\n:\r\n"),
    ],
)
def test_numbers_that_no_crawler_means_cost_nothing_but_themselves(date: str, fields: bytes, tmp_path: Path) -> None:
    with (tmp_path / "odd.warc.gz").open("wb") as out:
        writer = WARCWriter(out, gzip=True)
        head = StatusAndHeaders("200 OK", [("Content-Type", "text/html")], protocol="HTTP/1.1")
        dated = {"WARC-Date": date}
        for url in ("http://a.test/odd", "http://a.test/next"):
            body = io.BytesIO(f"<title>{url}</title>".encode())
            record = writer.create_warc_record(url, "response", body, http_headers=head, warc_headers_dict=dated)
            writer.write_record(record)
            beside = {"WARC-Concurrent-To": record.rec_headers.get_header("WARC-Record-ID")}
            writer.write_record(
                writer.create_warc_record(
                    url,
                    "metadata",
                    io.BytesIO(fields),
                    warc_content_type="application/warc-fields",
                    warc_headers_dict=beside,
                )
            )
    done = run("import", str(tmp_path / "odd.warc.gz"), "--into", str(tmp_path / "out"))
    assert done.code == 0, done.words
    titles = w.open(tmp_path / "out").sql("SELECT title, url FROM pages")
    assert sorted(titles) == [("http://a.test/next",) * 2, ("http://a.test/odd",) * 2]
    assert run("verify", str(tmp_path / "out")).code == 0


def _record(*lines: str) -> bytes:
    return "\r\n".join(("WARC/1.0", *lines, "", "HTTP/1.1 200 OK\r\n\r\nx")).encode() + b"\r\n\r\n"


WHOLE = _record("WARC-Type: response", "WARC-Target-URI: http://a.test/", "Content-Length: 20")
NO_TARGET = _record("WARC-Type: response", "Content-Type: application/http", "Content-Length: 20")


@pytest.mark.parametrize("data", [NO_TARGET, gzip.compress(WHOLE * 2)], ids=("no-target", "one-member"))
def test_a_file_that_cannot_be_read_is_named_in_one_line_and_nothing_is_made(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "odd.warc").write_bytes(data)
    done = run("import", str(tmp_path / "odd.warc"), "--into", str(tmp_path / "out"))
    assert done.code == 1
    assert len(done.words.splitlines()) == 1
    assert "odd.warc: a record near byte " in done.words
    assert not (tmp_path / "out").exists()


def test_a_record_within_which_a_file_ends_is_truncated(tmp_path: Path) -> None:
    whole = _record("WARC-Type: response", "WARC-Target-URI: http://a.test/whole", "Content-Length: 20")
    cut = _record("WARC-Type: response", "WARC-Target-URI: http://a.test/cut", "Content-Length: 99999")
    (tmp_path / "cut.warc").write_bytes(whole + cut.rstrip())
    done = run("import", str(tmp_path / "cut.warc"), "--into", str(tmp_path / "out"))
    assert done.code == 0, done.words
    rows = w.open(tmp_path / "out").sql("SELECT url, truncated, body(url) FROM pages ORDER BY url")
    assert list(rows) == [("http://a.test/cut", "unspecified", b"x"), ("http://a.test/whole", "", b"x")]
    assert run("verify", str(tmp_path / "out")).code == 0
