"""Captures for tests, and what other tools say about a segment."""

import subprocess
import sys
from hashlib import sha1, shake_128
from pathlib import Path
from typing import Any

from whimbrel.archive.api import (
    Capture,
    ConversionCapture,
    MetadataCapture,
    Profile,
    Reference,
    ResourceCapture,
    ResponseCapture,
    RevisitCapture,
)

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nServer: sim\r\n"
REQUEST = b"GET / HTTP/1.1\r\nHost: a.test\r\n"
AT_S = 1_700_000_000.25


class Body:
    def __init__(self, data: bytes) -> None:
        self._data = data

    @property
    def size(self) -> int:
        return len(self._data)

    def read(self) -> bytes:
        return self._data


class LostBody(Body):
    """Its file is gone when its turn comes."""

    def read(self) -> bytes:
        raise OSError(5, "spill file lost")


def capture(body: bytes = b"hello", number: int = 0, **changes: Any) -> ResponseCapture:
    fields: dict[str, Any] = {
        "url": f"https://a.test/page/{number}",
        "at_s": AT_S + number,
        "address": "127.0.0.1",
        "http_version": "1.1",
        "request_head": REQUEST,
        "response_head": HEAD,
        "payload": Body(body),
        "digest": sha1(body, usedforsecurity=False).digest(),
    }
    return ResponseCapture(**(fields | changes))


def revisit(
    number: int = 0,
    refers_to: Reference | None = None,
    profile: Profile = "identical-payload-digest",
    body: bytes = b"hello",
    **changes: Any,
) -> RevisitCapture:
    fields: dict[str, Any] = {
        "url": f"https://a.test/page/{number}",
        "at_s": AT_S + number,
        "address": "127.0.0.1",
        "http_version": "1.1",
        "request_head": REQUEST,
        "response_head": HEAD if profile == "identical-payload-digest" else b"HTTP/1.1 304 Not Modified\r\n",
        "digest": sha1(body, usedforsecurity=False).digest() if profile == "identical-payload-digest" else b"",
    }
    return RevisitCapture(profile=profile, refers_to=refers_to, **(fields | changes))


def resource(body: bytes = b"<p>hello", number: int = 0, **changes: Any) -> ResourceCapture:
    return ResourceCapture(**(_document(body, number) | changes))


def conversion(body: bytes = b"hello", number: int = 0, **changes: Any) -> ConversionCapture:
    return ConversionCapture(**(_document(body, number) | {"content_type": "text/plain"} | changes))


def metadata(body: bytes = b"a: b\r\n", number: int = 0, **changes: Any) -> MetadataCapture:
    return MetadataCapture(**(_document(body, number) | {"content_type": "application/warc-fields"} | changes))


def _document(body: bytes, number: int) -> dict[str, Any]:
    return {
        "url": f"https://a.test/page/{number}",
        "at_s": AT_S + number,
        "content_type": "text/html; charset=utf-8",
        "payload": Body(body),
        "digest": sha1(body, usedforsecurity=False).digest(),
    }


def every_kind() -> list[Capture]:
    """One of each, and of some more than one."""
    named = Reference("https://a.test/page/0", AT_S, "<urn:uuid:00000000-0000-4000-8000-000000000000>")
    return [
        capture(b"a page " * 50, 0, metadata=(("via", "https://a.test/"),), record_id=named.record_id),
        capture(b"no request is known", 1, request_head=b""),
        revisit(2, named, body=b"a page " * 50),
        revisit(3, named, "server-not-modified"),
        revisit(4, None, "server-not-modified", request_head=b""),
        resource(b"<p>a file", 5, url="https://a.test/file", metadata=(("via", "disk"),)),
        resource(b"log", 6, url="metadata://a.test/log", content_type="text/plain"),
        resource(b"a: b\r\n", 7, content_type="application/warc-fields"),
        resource(b"HTTP/1.1 200 OK\r\n\r\nnot HTTP", 8, content_type="application/http; msgtype=response"),
        resource(b"?", 9, content_type=""),
        conversion(b"a page, as text", 10, refers_to=named),
        conversion(b"derived from nothing that is known", 11),
        metadata(b"about: page 0\r\n", 12, refers_to=named),
        metadata(b"about: nothing\r\n", 13, url=""),
        metadata(b'{"about": "page 0"}', 14, content_type="application/json", refers_to=named),
    ]


def noise_bytes(number: int, size: int) -> bytes:
    """Bytes that do not compress, the same each time."""
    return shake_128(b"%d" % number).digest(size)


def run(tool: str, *arguments: str | Path) -> str:
    """A command of this environment; it must succeed and complain about nothing."""
    command = [str(Path(sys.executable).parent / tool), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    return done.stdout
