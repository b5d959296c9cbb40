"""A corpus as a WARC file, for a machine without nginx."""

from pathlib import Path
from typing import Final
from uuid import NAMESPACE_URL, uuid5

from whimbrel.bench.peers.corpus import Corpus

# By hand: warcio's writer copies every payload to a temporary file that it leaves open.
_RECORD: Final = (
    "WARC/1.1\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:uuid:{id}>\r\nWARC-Target-URI: {url}\r\n"
    "WARC-Date: 2026-01-01T00:00:00Z\r\nContent-Type: application/http;msgtype=response\r\n"
    "Content-Length: {length}\r\n\r\n"
)


def write_warc(corpus: Corpus, path: Path) -> None:
    with path.open("wb") as file:
        for host, target, body in corpus.files():
            url = f"{corpus.spec.scheme}://{host}{target}"
            kind = "text/plain" if target == "/robots.txt" else "text/html; charset=utf-8"
            coding = "Content-Encoding: gzip\r\n" if corpus.is_coded(target) else ""
            block = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\n{coding}\r\n".encode() + body
            head = _RECORD.format(id=uuid5(NAMESPACE_URL, url), url=url, length=len(block))
            file.write(head.encode() + block + b"\r\n\r\n")
