"""HTTP/2 by hand: frames as bytes, and a server that leaves one path to a case."""

import struct
from collections.abc import Callable, Iterable
from contextlib import suppress
from ssl import SSLSocket
from typing import BinaryIO, Final

from hpack import Decoder

from tests.fault.hostile_certificate import good_context
from tests.fault.hostile_port import Case, Peer

DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = range(10)
END_STREAM, ACK, END_HEADERS, PADDED = 1, 1, 4, 8
PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
PAGE: Final = b"<!DOCTYPE html><title>a page over HTTP/2</title>"
BAD_PATH: Final = "/bad"


def frame(kind: int, flags: int = 0, stream: int = 0, payload: bytes = b"") -> bytes:
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def string(text: bytes) -> bytes:
    """HPACK, without Huffman's code."""
    return integer(len(text), 7) + text


def integer(number: int, bits: int, first: int = 0) -> bytes:
    most = (1 << bits) - 1
    if number < most:
        return bytes((first | number,))
    made, number = bytearray((first | most,)), number - most
    while number >= 128:
        made.append(number % 128 + 128)
        number //= 128
    return bytes((*made, number))


def field(name: bytes, value: bytes, *, remember: bool = False) -> bytes:
    """A header line with a new name."""
    return (b"\x40" if remember else b"\0") + string(name) + string(value)


def head(*fields: tuple[bytes, bytes], status: int = 200) -> bytes:
    block = b"\x88" if status == 200 else b"\x08\x03%d" % status
    return block + b"".join(field(*one) for one in fields)


def page(stream: int, status: int = 200, body: bytes = PAGE) -> bytes:
    block = head((b"content-type", b"text/html"), status=status)
    return frame(HEADERS, END_HEADERS, stream, block) + frame(DATA, END_STREAM, stream, body)


def blocks(stream: int, block: bytes, flags: int = 0, size: int = 16_384) -> bytes:
    """HEADERS and as many CONTINUATIONs as it takes."""
    pieces = [block[at : at + size] for at in range(0, len(block), size)]
    kinds = (HEADERS, *(CONTINUATION for _ in pieces[1:]))
    ends = (*(0 for _ in pieces[1:]), END_HEADERS)
    return b"".join(
        frame(kind, end | (flags if kind == HEADERS else 0), stream, piece)
        for kind, end, piece in zip(kinds, ends, pieces, strict=True)
    )


class Session:
    """A connection over which HTTP/2 is spoken."""

    def __init__(
        self, peer: Peer, stream: SSLSocket, incoming: BinaryIO, settings: Iterable[tuple[int, int]] = ()
    ) -> None:
        self._peer = peer
        self._stream = stream
        self._input = incoming
        self._decoder = Decoder()
        self.send(frame(SETTINGS, payload=b"".join(struct.pack(">HI", *one) for one in settings)))
        self._input.read(len(PREFACE))

    def send(self, *frames: bytes) -> None:
        self._stream.sendall(b"".join(frames))

    def read(self) -> tuple[int, int, int, bytes]:
        """The next frame: kind, flags, stream, payload. EOFError when the client has gone."""
        front = self._input.read(9)
        if len(front) < 9:
            raise EOFError
        length = int.from_bytes(front[:3], "big")
        return front[3], front[4], int.from_bytes(front[5:], "big"), self._input.read(length)

    def requests(self) -> Iterable[tuple[int, str]]:
        """Streams and paths, as they are asked for; other frames get the answer that is due."""
        while True:
            kind, flags, stream, payload = self.read()
            if kind == SETTINGS and not flags & ACK:
                self.send(frame(SETTINGS, ACK))
            elif kind == PING and not flags & ACK:
                self.send(frame(PING, ACK, 0, payload))
            elif kind == HEADERS:
                block = payload[5:] if flags & 0x20 else payload
                path = next(value for name, value in self._decoder.decode(block, raw=True) if name == b":path").decode()
                self._peer.asked(path)
                yield stream, path

    def until_gone(self) -> None:
        """Say nothing more, and read."""
        while True:
            self.read()


Act = Callable[[Session, int], None]
"""Answers a request on a stream, and the connection goes on; it raises EOFError to end it."""


def http2(act: Act, settings: Iterable[tuple[int, int]] = (), *, robots_too: bool = False) -> Case:
    """Every path is a page, robots.txt is not there, and one path is left to the case."""

    def case(peer: Peer) -> None:
        with (
            suppress(EOFError),
            good_context(peer.address, ("h2",)).wrap_socket(peer.socket, server_side=True) as stream,
            stream.makefile("rb") as incoming,
        ):
            session = Session(peer, stream, incoming, settings)
            for number, path in session.requests():
                if path == BAD_PATH or (robots_too and path == "/robots.txt"):
                    act(session, number)
                else:
                    session.send(page(number, 404 if path == "/robots.txt" else 200))

    return case
