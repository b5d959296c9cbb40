"""A web read from WARC files, as curl and dig see it."""

import asyncio
import base64
import gzip
import hashlib
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from whimbrel.simweb.answer import Reply, SimRequest
from whimbrel.simweb.server.log import read_log
from whimbrel.simweb.server.serve import RunningWeb, ServeOptions, free_ports, serving_snapshot
from whimbrel.simweb.snapshot import SnapshotError, SnapshotHosts, WarcWeb
from whimbrel.simweb.spec import WebSpec

PAGE = b"<!DOCTYPE html><title>stored</title><p>caf\xe9 \x00 bytes as they were"
CODED = gzip.compress(PAGE * 50, mtime=0)
CHUNKED = b"5\r\n%b\r\n%x\r\n%b\r\n0\r\n\r\n" % (PAGE[:5], len(PAGE) - 5, PAGE[5:])
Pairs = list[tuple[str, str]]

pytestmark = pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")


class Archivist:
    """Writes the records of a test into a file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = path.open("wb")
        self._writer = WARCWriter(self._file, gzip=path.suffix == ".gz")
        self._write(self._writer.create_warcinfo_record(path.name, {"software": "test"}))

    def response(self, url: str, status: str = "200 OK", body: bytes = PAGE, headers: Pairs | None = None) -> None:
        head = StatusAndHeaders(status, headers or [("Content-Type", "text/html")], protocol="HTTP/1.1")
        self._write(self._writer.create_warc_record(url, "response", BytesIO(body), http_headers=head))

    def revisit(self, url: str, refers: str, body: bytes = PAGE, headers: Pairs | None = None) -> None:
        digest = "sha1:" + base64.b32encode(hashlib.sha1(body, usedforsecurity=False).digest()).decode()
        head = None if headers is None else StatusAndHeaders("200 OK", headers, protocol="HTTP/1.1")
        moment = "2026-01-01T00:00:00Z"
        self._write(self._writer.create_revisit_record(url, digest, refers, moment, http_headers=head))

    def _write(self, record: Any) -> None:
        self._writer.write_record(record)
        record.raw_stream.close()  # The writer has put a temporary file there, and forgets it.

    def close(self) -> Path:
        self._file.close()
        return self.path


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("warc")
    first = Archivist(folder / "first.warc.gz")
    first.response("http://old.example/", body=b"an early version")
    first.revisit("http://again.example/later-file?q=1", "http://plain.example/chunked", headers=[("X-Visit", "2")])
    first.revisit("http://again.example/lost", "http://nowhere.example/", body=b"not in the files")
    first.response("http://Old.Example:8080/#part", headers=[("Content-Type", "text/html"), ("X-Stored", "last")])
    first.response("https://secure.example/", headers=[("Content-Type", "text/plain")])
    first.response("dns:old.example", body=b"not http")
    second = Archivist(folder / "second.warc")
    hops = [("Connection", "X-Hop, close"), ("X-Hop", "1"), ("Keep-Alive", "timeout=5"), ("Set-Cookie", "a=1")]
    own = [("Set-Cookie", "b=2"), ("Server", "nginx"), ("Date", "Thu, 01 Jan 2015 00:00:00 GMT")]
    second.response(
        "http://plain.example/chunked", body=CHUNKED, headers=[*hops, *own, ("Transfer-Encoding", "chunked")]
    )
    second.response("http://plain.example/coded?x=%41", body=CODED, headers=[("Content-Encoding", "gzip")])
    second.response("http://plain.example/moved", "301 Moved Permanently", b"", [("Location", "/coded?x=%41")])
    second.response("http://plain.example/nowhere", "302 Found", b"")
    second.response("http://plain.example/gone", "404 Not Found", b"no such page")
    second.response("http://plain.example/broken", "503 Service Unavailable", b"later")
    second.response(
        "http://plain.example/robots.txt", body=b"User-agent: *\n", headers=[("Content-Type", "text/plain")]
    )
    second.revisit("http://again.example/headless", "http://plain.example/chunked", body=CHUNKED)
    return [first.close(), second.close()]


@dataclass(frozen=True)
class Seen:
    status: int
    headers: Pairs
    body: bytes

    def all(self, name: str) -> list[str]:
        return [value for known, value in self.headers if known.lower() == name.lower()]


@dataclass(frozen=True)
class Site:
    running: RunningWeb
    hosts: SnapshotHosts
    log: Path

    def ask(self, url: str, *options: str) -> Seen:
        """Ask for a URL of the snapshot at the port where it is served."""
        at = self.hosts.served_at(url)
        name = at.split("/")[2]
        found = self.hosts.find(name.partition(":")[0])
        address = found.addresses[0] if found else "127.0.0.1"
        trust = ("--cacert", self.running.ca, "--resolve", f"{name}:{address}", "-m", "10", "-i", "-sS")
        out = subprocess.run(["curl", *trust, *options, at], capture_output=True, check=True).stdout
        head, _, body = out.partition(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        pairs = [(name, value) for name, _, value in (line.partition(": ") for line in lines[1:])]
        return Seen(int(lines[0].split()[1]), pairs, body)


@contextmanager
def _served(paths: list[Path], folder: Path) -> Iterator[Site]:
    spec, dns_port = free_ports(WebSpec())
    snapshot = WarcWeb(paths)
    options = ServeOptions(folder, dns_port, folder / "access.log")
    ready, running = threading.Event(), list[RunningWeb]()
    finish: list[Callable[[], object]] = []

    async def serve() -> None:
        done = asyncio.Event()
        loop = asyncio.get_running_loop()
        context = serving_snapshot(snapshot, options, http_port=spec.http_port, https_port=spec.https_port)
        async with context as where:
            running.append(where)
            finish.append(lambda: loop.call_soon_threadsafe(done.set))
            ready.set()
            await done.wait()

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    assert ready.wait(10)
    try:
        hosts = SnapshotHosts(snapshot.hosts(), spec.http_port, spec.https_port)
        yield Site(running[0], hosts, folder / "access.log")
    finally:
        finish[0]()
        thread.join()


@pytest.fixture(scope="module")
def site(files: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with _served(files, tmp_path_factory.mktemp("served")) as running:
        yield running


def test_the_last_record_of_a_url_wins_whatever_its_port(site: Site) -> None:
    seen = site.ask("http://old.example/")
    assert (seen.status, seen.body, seen.all("x-stored")) == (200, PAGE, ["last"])
    assert seen.all("content-type") == ["text/html"]


def test_chunks_are_put_together_and_hop_by_hop_headers_left_out(site: Site) -> None:
    seen = site.ask("http://plain.example/chunked")
    assert seen.body == PAGE
    assert seen.all("content-length") == [str(len(PAGE))]
    assert seen.all("set-cookie") == ["a=1", "b=2"]
    assert seen.all("transfer-encoding") + seen.all("x-hop") == []
    assert seen.all("keep-alive") == []
    assert len(seen.all("date")) == len(seen.all("server")) == 1


@pytest.mark.parametrize("accepts", ["gzip", "identity"])
def test_a_coded_body_stays_as_it_was_stored(site: Site, accepts: str) -> None:
    seen = site.ask("http://plain.example/coded?x=%41", "-H", f"Accept-Encoding: {accepts}")
    assert (seen.body, seen.all("content-encoding")) == (CODED, ["gzip"])


def test_head_has_the_stored_headers_only(site: Site) -> None:
    seen = site.ask("http://plain.example/coded?x=%41", "--head")
    assert (seen.body, seen.all("content-length")) == (b"", [str(len(CODED))])


def test_statuses_are_the_stored_ones(site: Site) -> None:
    moved = site.ask("http://plain.example/moved")
    assert (moved.status, moved.all("location"), moved.body) == (301, ["/coded?x=%41"], b"")
    gone = site.ask("http://plain.example/gone")
    assert (gone.status, gone.body) == (404, b"no such page")


def test_a_revisit_has_its_own_head_and_the_body_it_refers_to(site: Site) -> None:
    seen = site.ask("http://again.example/headless")
    assert (seen.status, seen.body, seen.all("set-cookie")) == (200, PAGE, ["a=1", "b=2"])


def test_a_revisit_may_come_before_what_it_refers_to(site: Site) -> None:
    seen = site.ask("http://again.example/later-file?q=1")
    assert (seen.status, seen.all("x-visit")) == (200, ["2"])
    assert seen.body == PAGE


def test_https_is_served_with_a_certificate_for_the_host(site: Site) -> None:
    seen = site.ask("https://secure.example/", "--http2")
    assert (seen.status, seen.body, seen.all("content-type")) == (200, PAGE, ["text/plain"])
    assert site.ask("http://secure.example/").status == 404


def test_what_is_not_stored_is_missing(site: Site) -> None:
    assert site.ask("http://plain.example/nothing").status == 404
    assert site.ask("http://again.example/lost").status == 404
    assert site.ask("http://elsewhere.example/").status == 421
    assert site.ask("http://plain.example/gone", "-X", "DELETE").status == 405


@pytest.mark.skipif(shutil.which("dig") is None, reason="dig is not installed")
def test_dns_knows_the_hosts_of_the_snapshot(site: Site) -> None:
    found = site.hosts.find("plain.example")
    assert found is not None
    dig = ["dig", "@127.0.0.1", "-p", str(site.running.dns_port), "+short", "plain.example"]
    assert subprocess.run(dig, capture_output=True, text=True, check=True).stdout.split() == list(found.addresses)
    assert site.hosts.find("elsewhere.example") is None


def test_the_access_log_says_what_was_served(files: list[Path], tmp_path: Path) -> None:
    with _served(files, tmp_path) as site:
        for path in ("/robots.txt", "/gone", "/nothing"):
            site.ask(f"http://plain.example{path}")
        assert site.running.seeds == [site.hosts.served_at("http://old.example/")]
    assert [line.served for line in read_log(site.log)] == ["robots", "page", "missing"]


def test_the_truth_speaks_of_every_url(files: list[Path]) -> None:
    with WarcWeb(files) as snapshot:
        truth = {url: (outcome, reason) for url, outcome, reason in snapshot.truth()}
        assert list(truth) == snapshot.urls()
        assert snapshot.hosts() == ["old.example", "secure.example", "plain.example", "again.example"]
    assert truth["http://old.example/"] == ("stored", "new")
    assert truth["http://again.example/headless"] == ("stored", "new")
    assert truth["http://plain.example/moved"] == ("redirected", "http-301")
    assert truth["http://plain.example/nowhere"] == ("failed", "http-302")
    assert truth["http://plain.example/gone"] == ("gone", "http-404")
    assert truth["http://plain.example/broken"] == ("failed", "http-503")
    assert "http://again.example/lost" not in truth


def test_a_response_after_a_revisit_wins(tmp_path: Path) -> None:
    archivist = Archivist(tmp_path / "a.warc.gz")
    archivist.response("http://a.example/", body=b"first")
    archivist.revisit("http://a.example/", "http://a.example/", body=b"first")
    archivist.response("http://a.example/", body=b"second")
    with WarcWeb([archivist.close()]) as snapshot:
        assert _body(snapshot, "a.example") == b"second"


def _body(snapshot: WarcWeb, host: str) -> bytes:
    answer = snapshot.serve(SimRequest("GET", host, "/"), 0.0).answer
    assert isinstance(answer, Reply)
    return answer.body


def test_more_files_than_may_be_open_are_served(tmp_path: Path) -> None:
    paths = []
    for at in range(20):
        archivist = Archivist(tmp_path / f"{at}.warc")
        archivist.response(f"http://h{at}.example/", body=b"body %d" % at)
        paths.append(archivist.close())
    with WarcWeb(paths) as snapshot:
        for at in (*range(20), *reversed(range(20))):
            assert _body(snapshot, f"h{at}.example") == b"body %d" % at


def test_a_file_that_goes_away_is_an_answer_too(tmp_path: Path) -> None:
    archivist = Archivist(tmp_path / "a.warc")
    archivist.response("http://a.example/")
    path = archivist.close()
    with WarcWeb([path]) as snapshot:
        path.unlink()
        served = snapshot.serve(SimRequest("GET", "a.example", "/"), 0.0)
        assert (served.answer.status, served.label) == (500, "unreadable")
        assert list(snapshot.truth()) == [("http://a.example/", "failed", "http-500")]


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "no WARC record"),
        (b"<html>this is a page, not an archive</html>\n" * 50, "cannot be read as WARC"),
        (gzip.compress(b"nor is this", mtime=0), "cannot be read as WARC"),
        (b"WARC/1.0\r\nWARC-Type: response\r\nContent-Length: 100\r\n\r\nshort", "cut short"),
    ],
)
def test_a_file_that_is_no_warc_is_refused_by_name(tmp_path: Path, data: bytes, why: str) -> None:
    path = tmp_path / "odd.warc.gz"
    path.write_bytes(data)
    with pytest.raises(SnapshotError, match=f"odd.warc.gz: .*{why}"):
        WarcWeb([path])


def test_a_cut_file_and_a_missing_one_are_refused(files: list[Path], tmp_path: Path) -> None:
    cut = tmp_path / "cut.warc.gz"
    cut.write_bytes(files[0].read_bytes()[:-100])
    with pytest.raises(SnapshotError, match=r"cut.warc.gz: "):
        WarcWeb([cut])
    with pytest.raises(SnapshotError, match=r"absent.warc: cannot be read"):
        WarcWeb([tmp_path / "absent.warc"])
