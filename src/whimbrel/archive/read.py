"""Read segments: one record after another, or the one at a known place. Memory stays small however long a record is."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, Self, cast

from isal import isal_zlib

from whimbrel.archive.head import end_of_head, end_of_plain_head
from whimbrel.error import Damaged

_CHUNK_BYTES = 16_384
_AT_ONCE_BYTES = 4_000_000
_AT_ONCE_INFLATED_BYTES = 64_000_000
_MAX_HEADER_BYTES = 1 << 20
_MOST_DIGITS = 18
_END = b"\r\n\r\n"
_HTTP = "application/http"
_HTTP_KINDS = ("response", "revisit", "request")
_BEGINNINGS = (b"WARC/1.1\r\nWARC-Type: response\r\n", b"WARC/1.1\r\nWARC-Type: revisit\r\n")
_HTTP_BLOCK = b"\r\nContent-Type: application/http"
_GZIP_ERROR = cast("type[Exception]", isal_zlib.error)  # its stub says it were an instance


class SegmentDamaged(Damaged):
    """A segment does not hold what it should; the message names the file and the offset of the record."""

    def __init__(self, file: str, offset: int, what: str) -> None:
        super().__init__(f"{file}: record at {offset}: {what}")
        self.file = file
        self.offset = offset
        self.what = what


class StoredCapture(NamedTuple):
    """The first record of a capture as it was kept. Each head ends with its empty line; `http_head` is empty where
    there is no HTTP."""

    warc_head: bytes
    http_head: bytes
    payload: bytes

    @property
    def headers(self) -> tuple[tuple[str, str], ...]:
        """Of the record."""
        return _headers(self.warc_head) or ()


class _Member:
    """One gzip member, inflated as it is asked for."""

    def __init__(self, fd: int, file: str, offset: int, end: int) -> None:
        self._fd = fd
        self._file = file
        self._offset = offset
        self._at = offset
        self._end = end
        self._inflate = isal_zlib.decompressobj(wbits=31)

    @property
    def length(self) -> int:
        """Known when all has been read."""
        return self._at - self._offset - len(self._inflate.unused_data)

    def more(self) -> bytes:
        """The next bytes; none at the end of the member."""
        while not self._inflate.eof:
            data = os.pread(self._fd, min(_CHUNK_BYTES, self._end - self._at), self._at)
            if not data:
                raise self.damaged(f"torn: the file ends after {self._at - self._offset} bytes of it")
            self._at += len(data)
            try:
                piece: bytes = self._inflate.decompress(data)
            except _GZIP_ERROR as error:
                raise self.damaged(f"not a gzip member ({error})") from error
            if piece:
                return piece
        return b""

    def damaged(self, what: str) -> SegmentDamaged:
        return SegmentDamaged(self._file, self._offset, what)


class WarcRecord:
    """A record while it is being read: take its head, then its chunks; what is left is skipped by the reader."""

    def __init__(self, member: _Member, offset: int) -> None:
        self.offset = offset
        self._member = member
        self._buffer = b""
        self.head = self._read_head()
        self.headers = self._read_headers()
        self.kind = self.get("WARC-Type")
        self.content_length = self._read_length()
        self._left = self.content_length
        self._finished = False

    @property
    def length(self) -> int:
        """Of the member, compressed. Known after `finish`."""
        return self._member.length

    def get(self, name: str) -> str:
        """A header's value; empty where there is none."""
        wanted = name.lower()
        return next((value for key, value in self.headers if key.lower() == wanted), "")

    def http_head(self) -> bytes:
        """The head of the HTTP message that the block begins with, empty line included. Empty for other blocks."""
        if self.kind not in _HTTP_KINDS or not self.get("Content-Type").startswith(_HTTP):
            return b""
        block = b""
        for piece in self.chunks():
            block += piece
            end = end_of_head(block)
            if end >= 0:
                self._give_back(block[end:])
                return block[:end]
        return block

    def chunks(self) -> Iterator[bytes]:
        """The rest of the block."""
        while self._left:
            piece = self._buffer or self._member.more()
            if not piece:
                raise self._member.damaged(f"{self._left} bytes of its {self.content_length} are missing")
            self._buffer = piece[self._left :]
            piece = piece[: self._left]
            self._left -= len(piece)
            yield piece

    def read(self) -> bytes:
        return b"".join(self.chunks())

    def finish(self) -> None:
        """Read to the end of the member: what is behind the block must be the two line ends and nothing else."""
        if self._finished:
            return
        for _ in self.chunks():
            pass
        tail = self._buffer
        while len(tail) <= len(_END) and (piece := self._member.more()):
            tail += piece
        self._buffer = b""
        if tail != _END:
            raise self._member.damaged(f"its block of {self.content_length} bytes does not end where the member does")
        self._finished = True

    def _give_back(self, rest: bytes) -> None:
        self._left += len(rest)
        self._buffer = rest + self._buffer

    def _read_head(self) -> bytes:
        text = b""
        while (end := text.find(_END)) < 0:
            piece = self._member.more()
            if not piece or len(text) > _MAX_HEADER_BYTES:
                raise self._member.damaged("no WARC header")
            text += piece
        end += len(_END)
        self._buffer = text[end:]
        return text[:end]

    def _read_headers(self) -> tuple[tuple[str, str], ...]:
        if not self.head.startswith(b"WARC/1."):
            version = self.head.partition(b"\r\n")[0].decode(errors="replace")
            raise self._member.damaged(f"begins with {version[:20]!r}, not with WARC/1.1")
        found = _headers(self.head)
        if found is None:
            raise self._member.damaged("a header line without a colon")
        return found

    def _read_length(self) -> int:
        text = self.get("Content-Length")
        if not (text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS):
            raise self._member.damaged(f"Content-Length is {text[:40]!r}")
        return int(text)


def read_records(path: Path, offset: int = 0, length: int | None = None) -> Iterator[WarcRecord]:
    """The records of a segment from `offset` on, `length` bytes of it. Each is valid until the next is asked for.

    Raises SegmentDamaged at the first record that is torn or broken: behind it nothing can be found.
    """
    with _opened(path) as fd:
        end = os.fstat(fd).st_size if length is None else offset + length
        while offset < end:
            record = WarcRecord(_Member(fd, path.name, offset, end), offset)
            yield record
            record.finish()
            offset += record.length


class Captures:
    """Those of one directory, by where they are. The segment that was read last stays open."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._file = ""
        self._fd = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
        self._file, self._fd = "", -1

    def read(self, file: str, offset: int, length: int) -> StoredCapture:
        """What the tables' warc_file, warc_offset and warc_length point at. Raises SegmentDamaged, or OSError."""
        if file != self._file:
            self.close()
            self._fd = os.open(self._directory / file, os.O_RDONLY | os.O_CLOEXEC)
            self._file = file
        found = _read_at_once(self._fd, offset, length) if length <= _AT_ONCE_BYTES else None
        return _read_closely(self._directory / file, offset, length) if found is None else found


def read_capture(directory: Path, file: str, offset: int, length: int) -> StoredCapture:
    """One of them."""
    with Captures(directory) as captures:
        return captures.read(file, offset, length)


def _read_closely(path: Path, offset: int, length: int) -> StoredCapture:
    for record in read_records(path, offset, length):
        http_head = record.http_head()
        stored = StoredCapture(record.head, http_head, record.read())
        record.finish()
        if record.length != length:
            raise SegmentDamaged(path.name, offset, f"is {record.length} bytes long, not {length}")
        return stored
    raise SegmentDamaged(path.name, offset, "an empty place")


def _read_at_once(fd: int, offset: int, length: int) -> StoredCapture | None:
    """A record as we write them, at a third of the cost; None for any other, which the reader above has to judge."""
    inflate = isal_zlib.decompressobj(wbits=31)
    try:
        block: bytes = inflate.decompress(os.pread(fd, length, offset), _AT_ONCE_INFLATED_BYTES)
    except _GZIP_ERROR:
        return None
    begin = block.find(_END) + len(_END)
    if not inflate.eof or inflate.unused_data or begin < len(_END) or block[-4:] != _END:
        return None
    size = len(block) - begin - len(_END)
    if size < 0 or block.find(b"\r\nContent-Length: %d\r\n" % size, 0, begin) < 0:
        return None
    if not block.startswith(_BEGINNINGS) or block.find(_HTTP_BLOCK, 0, begin) < 0:
        return None
    end = end_of_plain_head(block, begin)
    return None if end < 0 else StoredCapture(block[:begin], block[begin:end], block[end : -len(_END)])


def _headers(head: bytes) -> tuple[tuple[str, str], ...] | None:
    """None when a line has no colon."""
    pairs = [line.partition(":") for line in head[: -len(_END)].decode(errors="replace").split("\r\n")[1:]]
    return tuple((name.strip(), value.strip()) for name, _, value in pairs) if all(pair[1] for pair in pairs) else None


@contextmanager
def _opened(path: Path) -> Iterator[int]:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        yield fd
    finally:
        os.close(fd)
