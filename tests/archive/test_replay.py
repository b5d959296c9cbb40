"""pywb replays the archive with the index as we wrote it. No dependency: the test runs where `wayback` is found."""

import gzip
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path

import pytest

from tests.archive.sample import AT_S, HEAD, capture, resource, revisit
from whimbrel.archive.api import Capture, Reference
from whimbrel.archive.warc import ArchiveConfig, WarcArchive

WAYBACK = shutil.which("wayback")
PAGE = b"<html><body>page</body></html>"
CAPTURES: list[Capture] = [
    capture(PAGE, 0, url="http://a.test/plain"),
    capture(
        gzip.compress(PAGE),
        1,
        url="http://a.test/coded",
        response_head=HEAD + b"Content-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n",
    ),
    capture(
        PAGE, 2, url="https://a.test/two", http_version="2", response_head=b"HTTP/2 200 \r\ncontent-type: text/html\r\n"
    ),
    revisit(3, Reference("http://a.test/plain", AT_S), body=PAGE, url="http://a.test/again"),
    capture(PAGE, 4, url="http://a.test/odd", response_head=b"HTTP/1.1 200 OK\n \nContent-Type: text/html\n\x00\n"),
    resource(PAGE, 5, url="http://a.test/file"),
]


@pytest.fixture
def port(tmp_path: Path) -> Iterator[int]:
    if WAYBACK is None:
        pytest.skip("pywb is not installed")
    archive = WarcArchive(tmp_path, ArchiveConfig())
    archive.append(CAPTURES)
    archive.seal()
    archive.index(archive.lengths())
    archive.close()
    folder = tmp_path / "archive"
    (tmp_path / "config.yaml").write_text(
        f"collections:\n  crawl:\n    index_paths: {folder}/\n    archive_paths: {folder}/\n"
    )
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = int(free.getsockname()[1])
    command = [WAYBACK, "-b", "127.0.0.1", "-p", str(port)]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as server:
        assert server.stdout is not None
        assert any("Starting Gevent Server" in line for line in server.stdout)
        until_it_listens(port)
        yield port
        server.kill()


def until_it_listens(port: int) -> None:
    """It says that it starts a moment before it does."""
    give_up_s = time.monotonic() + 20
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except ConnectionRefusedError:
            assert time.monotonic() < give_up_s
        else:
            return


def get(port: int, path: str) -> tuple[int, bytes]:
    connection = HTTPConnection("127.0.0.1", port, timeout=20)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        body = answer.read()
    finally:
        connection.close()
    return answer.status, gzip.decompress(body) if answer.headers["Content-Encoding"] == "gzip" else body


def test_pywb_replays_plain_coded_http2_revisited_odd_and_resource_pages(port: int) -> None:
    replayed = {item.url: get(port, f"/crawl/2023id_/{item.url}") for item in CAPTURES}
    assert replayed == {item.url: (200, PAGE) for item in CAPTURES}
