"""Fault scripts in HTTP/2: what raw HTTP/1 bytes and steps become where they have no literal meaning.

What a correct crawl makes of an exhibit does not depend on the protocol, so a script must fail or succeed here as it
does there. Wait and Repeat stay what they are; the rest is translated.

- Reset: RST_STREAM, INTERNAL_ERROR. (A script of nothing but Reset is not for us: it resets the whole connection.)
- Bytes that are a response head: HEADERS without what is about connections (RFC 9113 §8.2.2). Heads of 1xx likewise.
- Bytes after the head: DATA. What exceeds the announced length is left out: HTTP/1 clients do not read it either, and
  HTTP/2 clients must refuse it (RFC 9113 §8.1.1).
- A chunked body: DATA without the chunks, which HTTP/2 does not have. The last chunk is END_STREAM.
- Close, or the end of the script: END_STREAM; where more was due, RST_STREAM, CANCEL.
- Bytes that are no HTTP/1, in a head or between chunks: RST_STREAM, PROTOCOL_ERROR.
- A length that is no number: HEADERS with it, then RST_STREAM, PROTOCOL_ERROR, as not every client minds the field.
- A head that does not end: HEADERS with the first 256 KiB of it, then RST_STREAM, ENHANCE_YOUR_CALM.
"""

import re
from collections.abc import Generator, Iterator
from itertools import count
from typing import Final

from h2.errors import ErrorCodes

from whimbrel.simweb.answer import Close, Repeat, Reset, Script, Send, Step, Wait

_MAX_HEAD: Final = 256 * 1024
_STATUS_LINE: Final = re.compile(rb"HTTP/1\.[01] ([1-9][0-9]{2})(?: |\r\n|$)")
_LENGTH: Final = re.compile(r"[0-9]{1,18}")
_SIZE: Final = re.compile(rb"\r\n([0-9a-fA-F]{1,16})[ \t]*(?:;[^\r\n]*)?\r\n")
_PART_OF_SIZE: Final = re.compile(rb"\r(?:\n(?:[0-9a-fA-F]{1,16}[ \t]*(?:;[^\r\n]*)?\r?)?)?")
_CONNECTION_FIELDS: Final = ("connection", "keep-alive", "proxy-connection", "te", "transfer-encoding", "upgrade")

Fields = list[tuple[bytes, bytes]]


def translate(script: Script, *, bodyless: bool) -> Iterator[Fields | bytes | Wait | ErrorCodes]:
    """A script as HEADERS, DATA, waits, and last a code that ends the stream, which is NO_ERROR for END_STREAM."""
    for action in _read(script, _Transcript(bodyless=bodyless)):
        yield action
        if isinstance(action, ErrorCodes):
            return


def to_fields(headers: list[tuple[str, str]]) -> Fields:
    """Headers as HTTP/2 wants them: names in lower case, nothing about the connection (RFC 9113 §8.2)."""
    lower = ((name.lower(), value.strip()) for name, value in headers)
    kept = ((name, value) for name, value in lower if name not in _CONNECTION_FIELDS)
    return [(name.encode("latin-1", "replace"), value.encode("latin-1", "replace")) for name, value in kept]


def _read(script: Script, transcript: "_Transcript") -> Iterator[Fields | bytes | Wait | ErrorCodes]:
    for step in _unroll(script.steps):
        match step:
            case Send(data):
                yield from transcript.read(data)
            case Wait():
                yield step
            case Reset():
                yield ErrorCodes.INTERNAL_ERROR
            case Close():
                break
        if transcript.ended:
            break
    yield transcript.end()


def _unroll(steps: tuple[Step, ...]) -> Iterator[Send | Wait | Close | Reset]:
    """Steps with each Repeat as the Sends and Waits that it stands for, perhaps without end."""
    for step in steps:
        if isinstance(step, Repeat):
            for _ in count() if step.times is None else range(step.times):
                yield Send(step.data)
                yield Wait(step.every_s)
        else:
            yield step


class _Transcript:
    """Reads the raw HTTP/1 bytes of a script piece by piece. Nothing may be read after a code."""

    def __init__(self, *, bodyless: bool) -> None:
        self._bodyless = bodyless
        self._unread = b""
        self._body: _PlainBody | _ChunkedBody | None = None
        """None while heads are read."""

    @property
    def ended(self) -> bool:
        """The answer is complete, whatever the script does next."""
        return self._body is not None and self._body.ended

    def read(self, data: bytes) -> Iterator[Fields | bytes | ErrorCodes]:
        if self._body is None:
            data = yield from self._read_heads(data)
        if self._body is not None:
            yield from self._body.read(data)

    def end(self) -> ErrorCodes:
        """What the end of the connection means at this point."""
        if self._body is not None:
            return ErrorCodes.NO_ERROR if self._body.may_end else ErrorCodes.CANCEL
        return ErrorCodes.PROTOCOL_ERROR if self._unread else ErrorCodes.CANCEL

    def _read_heads(self, data: bytes) -> Generator[Fields | ErrorCodes, None, bytes]:
        """Returns what the data hold of the body."""
        self._unread += data
        while self._unread and self._body is None:
            head, end, rest = self._unread.partition(b"\r\n\r\n")
            status = _STATUS_LINE.match(head)
            if status is None:
                yield ErrorCodes.PROTOCOL_ERROR
                break
            if not end and len(head) <= _MAX_HEAD:
                break
            headers = _headers(head)
            yield to_fields([(":status", status[1].decode()), *headers])
            if not end:
                yield ErrorCodes.ENHANCE_YOUR_CALM
            self._unread = rest
            if not status[1].startswith(b"1"):
                self._body = yield from self._expect_body(headers)
        return self._unread if self._body is not None else b""

    def _expect_body(self, headers: list[tuple[str, str]]) -> "Generator[ErrorCodes, None, _PlainBody | _ChunkedBody]":
        lengths = {value for name, value in headers if name == "content-length"}
        if any(_LENGTH.fullmatch(length) is None for length in lengths) or len(lengths) > 1:
            yield ErrorCodes.PROTOCOL_ERROR
        if self._bodyless:
            return _PlainBody(0)
        if _is_chunked(headers):
            return _ChunkedBody()
        return _PlainBody(int(lengths.pop()) if lengths else None)


def _headers(head: bytes) -> list[tuple[str, str]]:
    """The headers of a raw head. Chunks count and a length beside them does not (RFC 9112 §6.3)."""
    lines = (line.partition(":") for line in head.decode("latin-1").split("\r\n")[1:])
    headers = [(name.lower(), value.strip()) for name, colon, value in lines if colon]
    if _is_chunked(headers):
        return [(name, value) for name, value in headers if name != "content-length"]
    return headers


def _is_chunked(headers: list[tuple[str, str]]) -> bool:
    return any(name == "transfer-encoding" and value.lower() == "chunked" for name, value in headers)


class _PlainBody:
    """A body of an announced length, or up to the end of the connection."""

    def __init__(self, due: int | None) -> None:
        self._due = due
        """Bytes still to come; None when nobody has said."""

    @property
    def ended(self) -> bool:
        return self._due == 0

    @property
    def may_end(self) -> bool:
        return not self._due

    def read(self, data: bytes) -> Iterator[bytes]:
        if self._due is not None:
            data = data[: self._due]
            self._due -= len(data)
        if data:
            yield data


class _ChunkedBody:
    """A body in chunks (RFC 9112 §7.1). Extensions and trailers are left out."""

    def __init__(self) -> None:
        # The line break before a size ends the chunk before it. The first size has none, so it gets one.
        self._unread = b"\r\n"
        self._due = 0
        """Bytes of the chunk still to come."""
        self._in_trailers = False
        self.ended = False

    @property
    def may_end(self) -> bool:
        return self.ended

    def read(self, data: bytes) -> Iterator[bytes | ErrorCodes]:
        self._unread += data
        while self._unread and not self.ended:
            if self._due:
                piece, self._unread = self._unread[: self._due], self._unread[self._due :]
                self._due -= len(piece)
                yield piece
            elif not self._pass_frame():
                if not self._in_trailers and _PART_OF_SIZE.fullmatch(self._unread) is None:
                    yield ErrorCodes.PROTOCOL_ERROR
                if len(self._unread) > _MAX_HEAD:
                    yield ErrorCodes.ENHANCE_YOUR_CALM
                break

    def _pass_frame(self) -> bool:
        """Go on after the size of the next chunk or after the trailers; False when they have not come whole."""
        if self._in_trailers:
            self.ended = b"\r\n\r\n" in self._unread
            return self.ended
        size = _SIZE.match(self._unread)
        if size is None:
            return False
        self._due = int(size[1], 16)
        self._in_trailers = self._due == 0
        # Trailers end like a head, with an empty line; where there are none, it follows the last size directly.
        self._unread = self._unread[size.end() - 2 if self._in_trailers else size.end() :]
        return True
