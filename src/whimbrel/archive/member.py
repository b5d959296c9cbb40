"""One gzip member for each record, so that a record can be read without those before it.

ISA-L at level 1 is three to five times faster than zlib at 6 and, on some pages, up to a fifth larger. A request or
metadata record of half a kilobyte takes it 6 µs, most of which goes into a Huffman table that such a record does not
pay back; level 0 has a fixed table and takes 1.3 µs for 140 bytes more.

A payload that is compressed already, as most answers are and all pictures, is *stored*: its bytes stand in the member
as they are (RFC 1951 §3.2.4), behind the deflated head. For a page of 7 KB that is as small, takes 13 µs to write
instead of 39, and 8 to read instead of 30.
"""

import struct
import zlib
from collections.abc import Callable, Sequence
from typing import Protocol

from isal import igzip_lib, isal_zlib

Compress = Callable[[Sequence[bytes]], list[bytes]]
"""Parts of a record in, parts of a gzip member out."""

LIBRARIES = {"isal": range(4), "zlib": range(10)}
"""Libraries and the levels they know."""

LARGE_BYTES = 1_000_000
"""Records longer than this are never joined: they are compressed slice by slice."""

_SMALL_BYTES = 1_000
"""Records shorter than this get ISA-L's level 0, unless a level above 1 asks for small files."""
_SLICE_BYTES = 1 << 20
_GZIP = 16 + zlib.MAX_WBITS
_RAW = -zlib.MAX_WBITS

_STORED_BYTES = 2_000
"""Shorter payloads are not worth the look."""
_LOOK_BYTES = 1_024
_TEXT_BYTES = 64
_BLOCK_BYTES = 0xFFFF
_MEMBER = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"
_BLOCK = struct.Struct("<BHH")
_TRAILER = struct.Struct("<II")


def compressor(library: str, level: int) -> Compress:
    if level not in LIBRARIES.get(library, ()):
        known = ", ".join(f"{name} {levels[0]} to {levels[-1]}" for name, levels in LIBRARIES.items())
        raise ValueError(f"no compression {library!r} with level {level}; there are {known}")
    return _isal(level) if library == "isal" else _zlib(level)


def _isal(level: int) -> Compress:
    small_level = 0 if level <= 1 else level

    # The one-shot call costs less than a compressor object, which allocates its buffers anew each time.
    def compress(parts: Sequence[bytes]) -> list[bytes]:
        if _holds_packed(parts):
            return _stored(isal_zlib.compressobj(small_level, wbits=_RAW), parts)
        length = sum(map(len, parts))
        if length <= LARGE_BYTES:
            chosen = small_level if length < _SMALL_BYTES else level
            return [igzip_lib.compress(b"".join(parts), chosen, igzip_lib.COMP_GZIP)]
        return _sliced(isal_zlib.compressobj(level, wbits=_GZIP), parts)

    return compress


def _zlib(level: int) -> Compress:
    def compress(parts: Sequence[bytes]) -> list[bytes]:
        if _holds_packed(parts):
            return _stored(zlib.compressobj(level, wbits=_RAW), parts)
        if sum(map(len, parts)) <= LARGE_BYTES:
            return [zlib.compress(b"".join(parts), level, wbits=_GZIP)]
        return _sliced(zlib.compressobj(level, wbits=_GZIP), parts)

    return compress


class _Press(Protocol):
    def compress(self, data: memoryview, /) -> bytes: ...
    def flush(self, mode: int = ..., /) -> bytes: ...


def _sliced(press: _Press, parts: Sequence[bytes]) -> list[bytes]:
    done: list[bytes] = []
    for part in parts:
        view = memoryview(part)
        done.extend(press.compress(view[at : at + _SLICE_BYTES]) for at in range(0, len(view), _SLICE_BYTES))
    done.append(press.flush())
    return [piece for piece in done if piece]


def _holds_packed(parts: Sequence[bytes]) -> bool:
    """Whether the last part but one, which is where a payload is, would not get smaller. Judged by a piece from its
    middle: pictures and documents begin with words."""
    payload = parts[-2]
    if len(payload) < _STORED_BYTES or payload[:_TEXT_BYTES].isascii():
        return False
    at = (len(payload) - _LOOK_BYTES) // 2
    piece = payload[at : at + _LOOK_BYTES]
    return len(igzip_lib.compress(piece, 0, igzip_lib.COMP_DEFLATE)) > _LOOK_BYTES


def _stored(press: _Press, parts: Sequence[bytes]) -> list[bytes]:
    """All but the last two parts deflated, up to a whole byte; those as they are."""
    head, payload, end = b"".join(parts[:-2]), parts[-2], parts[-1]
    checksum, length = 0, 0
    for part in (head, payload, end):
        checksum, length = isal_zlib.crc32(part, checksum), length + len(part)
    done = [_MEMBER, press.compress(memoryview(head)), press.flush(zlib.Z_SYNC_FLUSH)]
    for at in range(0, len(payload), _BLOCK_BYTES):
        block = payload[at : at + _BLOCK_BYTES]
        done += (_BLOCK.pack(0, len(block), len(block) ^ 0xFFFF), block)
    last = _BLOCK.pack(1, len(end), len(end) ^ 0xFFFF)
    return [*done, last, end, _TRAILER.pack(checksum, length & 0xFFFFFFFF)]
