"""What the frontier keeps beside hosts and queues: of the crawl as a whole, and of each slot."""

from typing import Final

import msgspec

from whimbrel.clock import ClockMark
from whimbrel.state.api import State, StoredPairs
from whimbrel.url.key import SLOTS

_META: Final = b"frontier"


class Meta(msgspec.Struct, array_like=True):
    """Of the crawl as a whole. Changed in memory, written when a group is sealed."""

    max_pages_per_host: int | None = None
    """The limit that hosts are held back by."""
    order: str = ""
    """The order of the queues, and how often it has changed."""
    order_changes: int = 0
    block: tuple[str, ...] = ()
    """The hosts that were blocked: a host that is held back for that waits until the list is another."""
    at_s: float = 0.0
    """The crawl's time when this was written (`crawl_time.py`)."""
    mark: ClockMark | None = None
    """That moment, by the clocks of the machine."""


def read_meta(state: StoredPairs) -> Meta | None:
    found = state.get("meta", _META)
    return None if found is None else msgspec.msgpack.decode(found, type=Meta)


def write_meta(state: State, meta: Meta) -> None:
    state.put("meta", _META, msgspec.msgpack.encode(meta))


class SlotRecord(msgspec.Struct, array_like=True):
    """The counts of one slot."""

    queued: int = 0
    taken: int = 0
    """Requests that are over. Those under way are not counted: after a crash they are made again."""
    hosts: int = 0


encode_slot: Final = msgspec.msgpack.Encoder().encode
decode_slot: Final = msgspec.msgpack.Decoder(SlotRecord).decode


class SlotCounts:
    """The counts of all slots, and their sums. Changed in memory; `flush` writes what changed."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._changed: set[bytes] = set()
        found = state.scan("slots", b"", SLOTS.to_bytes(2, "big"), SLOTS)
        self._records = {slot: decode_slot(value) for slot, value in found}
        self.queued = sum(record.queued for record in self._records.values())
        self.taken = sum(record.taken for record in self._records.values())
        self.hosts = sum(record.hosts for record in self._records.values())

    def add_queued(self, slot: bytes, number: int) -> None:
        self._record(slot).queued += number
        self.queued += number

    def add_taken(self, slot: bytes) -> None:
        self._record(slot).taken += 1
        self.taken += 1

    def add_host(self, slot: bytes) -> None:
        self._record(slot).hosts += 1
        self.hosts += 1

    def remove_host(self, slot: bytes, queued: int, taken: int) -> None:
        """A host leaves with its entries."""
        record = self._record(slot)
        record.queued, record.taken, record.hosts = record.queued - queued, record.taken - taken, record.hosts - 1
        self.queued, self.taken, self.hosts = self.queued - queued, self.taken - taken, self.hosts - 1

    def reload(self, slot: bytes) -> None:
        """The counts of a slot are those of the state again: it was imported, or deleted."""
        self._changed.discard(slot)
        before = self._records.pop(slot, None) or SlotRecord()
        stored = self._state.get("slots", slot)
        after = SlotRecord() if stored is None else decode_slot(stored)
        if stored is not None:
            self._records[slot] = after
        self.queued += after.queued - before.queued
        self.taken += after.taken - before.taken
        self.hosts += after.hosts - before.hosts

    def _record(self, slot: bytes) -> SlotRecord:
        self._changed.add(slot)
        record = self._records.get(slot)
        if record is None:
            record = self._records[slot] = SlotRecord()
        return record

    def flush(self) -> None:
        for slot in self._changed:
            self._state.put("slots", slot, encode_slot(self._records[slot]))
        self._changed.clear()
