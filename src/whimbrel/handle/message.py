"""What goes between the crawl and its workers: MessagePack, each message with its length before it."""

import socket
import struct
from typing import Any, Final

import msgspec

from whimbrel.handle.page import Raw

LENGTH: Final = struct.Struct("<I")
LEAVING: Final = "leaving"
"""The outcome of a worker's last message: it has grown too large, and wants to be replaced."""


class Kept(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Where the archive has a page: the worker reads it itself."""

    directory: str
    file: str
    offset: int
    length: int


class Task(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A page to be looked at."""

    raw: Raw
    handle: bool = True
    """False when only `links` are to be judged."""
    links: tuple[str, ...] = ()
    """URLs that filters have not judged yet."""
    kept: Kept | None = None
    """Where headers and payload are, when they do not come along."""


class Made(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What came of it."""

    items: list[tuple[str, list[Any], bytes]] = []
    """Table, values, and what the key is known by; empty without a key."""
    tables: dict[str, tuple[tuple[str, str], ...]] = {}
    """The columns of each of these tables."""
    links: list[tuple[str, int]] = []
    """URL and priority."""
    refused: list[str] = []
    """Those of the task's links that a filter does not want."""
    handlers: str = ""
    """Names of those that looked at the page."""
    error: str = ""
    """What a person needs to find the mistake: a traceback."""
    printed: str = ""
    elapsed_ms: float = 0.0
    outcome: str = "ok"
    """`ok`, `error`, `timeout` or `died`."""


def encode(message: Any) -> bytes:
    body = msgspec.msgpack.encode(message)
    return LENGTH.pack(len(body)) + body


decode_tasks = msgspec.msgpack.Decoder(list[Task]).decode
decode_made = msgspec.msgpack.Decoder(Made).decode


def receive(connection: socket.socket) -> bytes | None:
    """One message, waiting for it; None when the other side has gone."""
    head = _exactly(connection, LENGTH.size)
    return None if head is None else _exactly(connection, LENGTH.unpack(head)[0])


def _exactly(connection: socket.socket, count: int) -> bytes | None:
    parts = bytearray()
    while len(parts) < count:
        piece = connection.recv(min(1 << 20, count - len(parts)))
        if not piece:
            return None
        parts += piece
    return bytes(parts)
