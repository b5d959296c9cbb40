"""Captures for tests, and what other tools say about a segment."""

import subprocess
import sys
from hashlib import sha1, shake_128
from pathlib import Path
from typing import Any

from whimbrel.archive.api import Capture

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


def capture(body: bytes = b"hello", number: int = 0, **changes: Any) -> Capture:
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
    return Capture(**(fields | changes))


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
