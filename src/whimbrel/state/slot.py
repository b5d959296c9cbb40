"""A slot as a whole: listed, written out in chunks, read in again, deleted.

A chunk says what it is (format, slot, number, space) and proves itself whole (CRC-32). Its pairs are compressed
(zstd). However large a slot is, one chunk is in memory at a time, on both sides. Spaces that are ordered by time are
not among them: what they hold follows from the others, and `frontier/slot_transfer.py` knows how.
"""

import zlib
from collections.abc import Iterator
from hashlib import blake2b
from typing import Annotated, Final

import msgspec
import zstandard

from whimbrel.error import Damaged
from whimbrel.state.api import SLOT_BYTES, SLOT_SPACES, State, StateError, StateTooNew
from whimbrel.state.rocks import FORMAT
from whimbrel.url.key import SLOTS

_MAGIC: Final = b"WhimSlt1"
_HEAD_BYTES: Final = len(_MAGIC) + 4
_PAIRS: Final = 4_096
_LARGE_PAIRS: Final = {"robots": 16}
"""In spaces whose values can be half a megabyte."""
_MOST_BYTES: Final = 64_000_000
"""Of a chunk, before it is compressed."""


class SlotDamaged(StateError, Damaged):
    """A chunk of a slot is not what was written."""

    remedy = ""


class SlotChunk(msgspec.Struct, frozen=True, array_like=True):
    """A part of a slot. The last one of a slot says so, and has no pairs."""

    format: int
    slot: Annotated[int, msgspec.Meta(ge=0, lt=SLOTS)]
    number: Annotated[int, msgspec.Meta(ge=0)]
    """From 0, within the slot."""
    space: str
    """Empty in the last one."""
    pairs: list[tuple[bytes, bytes]]
    crawl: bytes
    """Tells whose secret its keys were made with, and not the secret."""

    @property
    def last(self) -> bool:
        return not self.space


_encode: Final = msgspec.msgpack.Encoder().encode
_decode: Final = msgspec.msgpack.Decoder(SlotChunk).decode


def slot_key(slot: int) -> bytes:
    """What the keys of a slot begin with."""
    return slot.to_bytes(SLOT_BYTES, "big")


def list_slots(state: State) -> list[int]:
    """The slots of which the state has anything."""
    found: set[int] = set()
    for space in SLOT_SPACES:
        start = slot_key(0)
        while pairs := state.pairs(space, start, b"\xff\xff", 1):
            slot = int.from_bytes(pairs[0][0][:SLOT_BYTES], "big")
            found.add(slot)
            start = slot_key(slot + 1)
    return sorted(found)


def slot_pairs(state: State, space: str, slot: int, start: bytes = b"") -> Iterator[list[tuple[bytes, bytes]]]:
    """All pairs of a slot in a space, from a key on, some at a time. They may be deleted meanwhile."""
    start, end, most = start or slot_key(slot), slot_key(slot + 1), _LARGE_PAIRS.get(space, _PAIRS)
    while pairs := state.pairs(space, start, end, most):
        yield pairs
        start = pairs[-1][0] + b"\0"


def crawl_mark(state: State) -> bytes:
    """What the chunks of one crawl have in common."""
    return blake2b(state.secret, digest_size=8, person=b"crawl").digest()


def export_slot(state: State, slot: int) -> Iterator[bytes]:
    """The chunks of a slot, which must not change until the last one is there."""
    number, crawl = 0, crawl_mark(state)
    for space in SLOT_SPACES:
        for pairs in slot_pairs(state, space, slot):
            yield _packed(SlotChunk(int(FORMAT), slot, number, space, pairs, crawl))
            number += 1
    yield _packed(SlotChunk(int(FORMAT), slot, number, "", [], crawl))


def _packed(chunk: SlotChunk) -> bytes:
    body = zstandard.ZstdCompressor().compress(_encode(chunk))
    return _MAGIC + zlib.crc32(body).to_bytes(4, "big") + body


def read_chunk(data: bytes) -> SlotChunk:
    """Raises SlotDamaged, and StateTooNew for a chunk of another format."""
    body = data[_HEAD_BYTES:]
    if data[: len(_MAGIC)] != _MAGIC or zlib.crc32(body).to_bytes(4, "big") != data[len(_MAGIC) : _HEAD_BYTES]:
        raise SlotDamaged("a chunk of a slot is damaged; have it sent once more")
    try:
        chunk = _decode(_unpacked(body))
    except (zstandard.ZstdError, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise SlotDamaged(f"a chunk of a slot is damaged ({error}); have it sent once more") from error
    if chunk.format != int(FORMAT):
        raise StateTooNew(f"a chunk of slot {chunk.slot} has format {chunk.format}; this state has {FORMAT.decode()}")
    start = slot_key(chunk.slot)
    strange = chunk.space not in SLOT_SPACES and not chunk.last
    if strange or not all(key.startswith(start) for key, _ in chunk.pairs):
        raise SlotDamaged(f"a chunk of slot {chunk.slot} holds what is not of that slot; nothing was taken over")
    return chunk


def _unpacked(body: bytes) -> bytes:
    # A frame that says how large it is makes the decoder take so much memory, whatever limit it is given.
    said = zstandard.frame_content_size(body)
    if said > _MOST_BYTES:
        raise zstandard.ZstdError(f"{said:,} bytes are more than a chunk has")
    return zstandard.ZstdDecompressor().decompress(body, max_output_size=_MOST_BYTES)
