"""Frames: what one commit added, in one piece that proves itself whole.

A frame is a head of 32 bytes and a payload. The head holds a magic number, the number of the commit, the payload's
length and check sum, and a check sum of itself: a head can be believed even where its payload was torn off. A reader is
given the length that was committed and looks no further; inside it, everything must be whole.
"""

import mmap
import os
import struct
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec
from isal import isal_zlib

_MAGIC: Final = b"WhimFct1"
_HEAD: Final = struct.Struct("<8sQQII")
HEAD_BYTES: Final = _HEAD.size


class Head(msgspec.Struct, frozen=True, gc=False):
    number: int
    """Of the commit."""
    offset: int
    """Where the frame begins."""
    payload_bytes: int
    payload_crc: int

    @property
    def end(self) -> int:
        return self.offset + HEAD_BYTES + self.payload_bytes


class FrameBroken(Exception):
    """There is no whole frame where one should be."""

    def __init__(self, offset: int, what: str) -> None:
        super().__init__(f"at byte {offset:,}: {what}")
        self.offset = offset
        self.what = what


def frame(number: int, payload: Sequence[bytes | memoryview]) -> list[bytes | memoryview]:
    """The parts of a frame in order, for one `writev`. The payload comes in parts, which are not copied."""
    crc = 0
    for part in payload:
        crc = isal_zlib.crc32(part, crc)
    length = sum(memoryview(part).nbytes for part in payload)
    bare = _HEAD.pack(_MAGIC, number, length, crc, 0)
    return [bare[:-4] + struct.pack("<I", isal_zlib.crc32(bare[:-4])), *payload]


def read_head(fd: int, offset: int) -> Head:
    """Raises FrameBroken. Says nothing about the payload."""
    data = _pread(fd, HEAD_BYTES, offset)
    if len(data) < HEAD_BYTES:
        raise FrameBroken(offset, "the file ends inside the head of a frame")
    magic, number, length, payload_crc, head_crc = _HEAD.unpack(data)
    if magic != _MAGIC or head_crc != isal_zlib.crc32(data[:-4]):
        raise FrameBroken(offset, "no frame begins here")
    return Head(number, offset, length, payload_crc)


def heads(fd: int, end: int) -> Iterator[Head]:
    """The heads of all frames of a file up to its committed length. FrameBroken if that is not the end of a frame."""
    offset = 0
    while offset < end:
        head = read_head(fd, offset)
        if head.end > end:
            raise FrameBroken(offset, f"a frame of commit {head.number} passes the committed length {end:,}")
        yield head
        offset = head.end


def read_payload(fd: int, head: Head) -> bytes:
    """Raises FrameBroken when the payload is short or not what was written."""
    data = _pread(fd, head.payload_bytes, head.offset + HEAD_BYTES)
    if len(data) < head.payload_bytes:
        raise FrameBroken(head.offset, f"the file ends inside the frame of commit {head.number}")
    if isal_zlib.crc32(data) != head.payload_crc:
        raise FrameBroken(head.offset, f"the check sum of the frame of commit {head.number} is wrong")
    return data


def mapped_payload(fd: int, head: Head) -> memoryview:
    """The same without a copy. Only for a file that nobody cuts meanwhile: that would be the end of the process."""
    begin = head.offset + HEAD_BYTES
    before = begin % mmap.ALLOCATIONGRANULARITY
    try:
        mapped = mmap.mmap(fd, before + head.payload_bytes, access=mmap.ACCESS_READ, offset=begin - before)
    except ValueError as error:
        raise FrameBroken(head.offset, f"the file ends inside the frame of commit {head.number}") from error
    data = memoryview(mapped)[before:]
    if isal_zlib.crc32(data) != head.payload_crc:
        raise FrameBroken(head.offset, f"the check sum of the frame of commit {head.number} is wrong")
    return data


def latest_number(fd: int, offset: int) -> int:
    """The highest commit number that a head names from here on; 0 if there is none. What is torn ends the search."""
    latest = 0
    try:
        while True:
            head = read_head(fd, offset)
            latest = max(latest, head.number)
            offset = head.end
    except FrameBroken:
        return latest


def _pread(fd: int, count: int, offset: int) -> bytes:
    """Up to `count` bytes, less only at the end of the file. One call of pread returns at most 2 GB."""
    data = os.pread(fd, count, offset)
    if len(data) == count or not data:
        return data
    parts, got = [data], len(data)
    while got < count and (data := os.pread(fd, count - got, offset + got)):
        parts.append(data)
        got += len(data)
    return b"".join(parts)
