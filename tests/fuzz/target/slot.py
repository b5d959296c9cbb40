"""Chunks of slots that come from another crawl, as they stand and packed anew around changed contents."""

import zlib
from typing import Final

import zstandard

from tests.fuzz.api import Target, plain
from whimbrel.state.api import StateTooNew
from whimbrel.state.slot import SlotChunk, SlotDamaged, read_chunk

_MAGIC: Final = b"WhimSlt1"


def read(data: bytes) -> None:
    """An input is the contents of a chunk; it is read plain, packed, and as if it were a packed chunk itself."""
    _read(data)
    _read(_sealed(data))
    _read(_sealed(zstandard.ZstdCompressor(level=1).compress(data)))


def _sealed(body: bytes) -> bytes:
    return _MAGIC + zlib.crc32(body).to_bytes(4, "big") + body


def _read(data: bytes) -> SlotChunk | None:
    try:
        chunk = read_chunk(data)
    except (SlotDamaged, StateTooNew):
        return None
    assert 0 <= chunk.slot < 1 << 16
    assert all(key[:2] == chunk.slot.to_bytes(2, "big") for key, _ in chunk.pairs)
    return chunk


TARGET: Final = Target(
    "slot",
    plain(read),
    (b"\x96", b"\xa5hosts", b"\xc4\x03", b"\xcf\xff\xff\xff\xff\xff\xff\xff\xff", b"\xff", b"\xd3\x80", b"\xa0"),
    quick_inputs=12_000,
)
