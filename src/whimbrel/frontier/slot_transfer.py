"""Slots that leave the frontier or come to it, with what is derived from them.

`due` and `retry` begin with times, so that the next host or try is found at once. What they hold of a slot follows from
its hosts and its queues: it goes with them when the slot is deleted, and is made anew when it is imported.
"""

from collections.abc import Callable, Iterator
from typing import Final

from whimbrel.frontier.api import Gate
from whimbrel.frontier.host import HostTable, decode_host
from whimbrel.frontier.meta import SlotCounts, SlotRecord, encode_slot
from whimbrel.frontier.order import end_of, retry_key
from whimbrel.frontier.queue import Queues
from whimbrel.frontier.scheduler import HostScheduler
from whimbrel.state.api import SLOT_SPACES, State
from whimbrel.state.slot import (
    SlotChunk,
    SlotDamaged,
    crawl_mark,
    export_slot,
    list_slots,
    read_chunk,
    slot_key,
    slot_pairs,
)

_AT_ONCE: Final = 1_000
_COUNTS: Final = "slots"
_HOSTS_FIRST: Final = ("hosts", _COUNTS, *(space for space in SLOT_SPACES if space not in ("hosts", _COUNTS)))


class DiskSlotTransfer:
    """Of a frontier that is open. Chunks and deletions go to the open group, so that what is in memory is bounded by
    the commits in between."""

    def __init__(
        self,
        state: State,
        table: HostTable,
        counts: SlotCounts,
        scheduler: HostScheduler,
        queues: Queues,
        gate: Gate,
        changed: Callable[[], None],
    ) -> None:
        self._state, self._table, self._counts = state, table, counts
        self._scheduler, self._queues, self._gate, self._changed = scheduler, queues, gate, changed
        self._deleted_up_to: dict[int, tuple[str, bytes]] = {}
        """Where a deletion goes on, by slot: to look from the start again would pass everything that is deleted."""
        self._next_chunk: dict[int, int] = {}
        """The number of the chunk that an import goes on with, by slot."""

    def slots(self) -> list[int]:
        self._write_down()
        return list_slots(self._state)

    def export(self, slot: int) -> Iterator[bytes]:
        self._table.check_idle(slot_key(slot))
        self._write_down()
        return export_slot(self._state, slot)

    def take_in(self, data: bytes) -> SlotChunk:
        chunk = read_chunk(data)
        if chunk.crawl != crawl_mark(self._state):
            raise SlotDamaged(
                f"a chunk of slot {chunk.slot} comes from a crawl with another secret: its URLs would be unknown here. "
                "Nothing was taken over; begin this crawl with the other one's file `secret`"
            )
        self._table.check_idle(slot_key(chunk.slot))
        self._check_order(chunk)
        # The counts of a slot that is not whole yet would keep the crawl from its end: they follow from the hosts.
        if chunk.space != _COUNTS:
            for key, value in chunk.pairs:
                self._state.put(chunk.space, key, value)
        if chunk.last:
            self._derive(chunk.slot)
            self._begin_anew(slot_key(chunk.slot))
            self._gate.mark_visited(chunk.slot)
            self._changed()
        return chunk

    def _check_order(self, chunk: SlotChunk) -> None:
        """A chunk may come again, but none may be left out; after a restart the first one is the first again."""
        following = self._next_chunk.get(chunk.slot, 0) if chunk.number else 0
        if chunk.number > following:
            raise SlotDamaged(
                f"chunk {chunk.number} of slot {chunk.slot} came, and chunk {following} is missing; "
                "have the slot sent once more. Nothing of this chunk was taken over"
            )
        if chunk.last:
            self._next_chunk.pop(chunk.slot, None)
        else:
            self._next_chunk[chunk.slot] = max(following, chunk.number + 1)

    def _derive(self, slot: int) -> None:
        """What follows from the hosts of a slot: its counts, and the keys of the spaces by time."""
        counts = SlotRecord()
        for pairs in slot_pairs(self._state, "hosts", slot):
            for host, value in pairs:
                record = decode_host(value)
                counts.queued, counts.taken = counts.queued + record.queued, counts.taken + record.taken
                counts.hosts += 1
                for space, key in self._derived(host, value):
                    self._state.put(space, key, b"")
        if counts.hosts:
            self._state.put(_COUNTS, slot_key(slot), encode_slot(counts))

    def delete(self, slot: int, most: int) -> int:
        # Hosts go first, with what is derived from them, and then the counts: after a restart on the way nothing of the
        # slot is visited, and the crawl waits for nothing of it.
        self._table.check_idle(slot_key(slot))
        self._write_down()
        deleted, begin = 0, self._deleted_up_to.pop(slot, ("hosts", b""))
        for space, key, value in self._hosts_first(slot, *begin):
            if deleted >= most:
                self._deleted_up_to[slot] = (space, key)
                break
            if space == "hosts":
                record = decode_host(value)
                self._counts.remove_host(slot_key(slot), record.queued, record.taken)
                self._counts.flush()
                for where, other in self._derived(key, value):
                    self._state.delete(where, other)
            self._state.delete(space, key)
            deleted += 1
        self._begin_anew(slot_key(slot))
        return deleted

    def _hosts_first(self, slot: int, space: str, start: bytes) -> Iterator[tuple[str, bytes, bytes]]:
        """The pairs of a slot from a space and a key on."""
        for one in _HOSTS_FIRST[_HOSTS_FIRST.index(space) :]:
            for pairs in slot_pairs(self._state, one, slot, start):
                for key, value in pairs:
                    yield one, key, value
            start = b""

    def _derived(self, host: bytes, value: bytes) -> Iterator[tuple[str, bytes]]:
        """The keys of the spaces by time that follow from a host and its queue."""
        due = decode_host(value).due
        if due:
            yield "due", due
        start, end = end_of(host), host + b"\xff"
        while pairs := self._state.scan("queue", start, end, _AT_ONCE):
            for key, _ in pairs:
                yield "retry", retry_key(key)
            start = pairs[-1][0] + b"\0"

    def _write_down(self) -> None:
        """What the frontier has in memory only."""
        self._table.write_down()
        self._counts.flush()

    def _begin_anew(self, slot: bytes) -> None:
        """Whatever memory holds of a slot is read from the state again."""
        self._table.forget(slot)
        self._counts.reload(slot)
        self._scheduler.reload()
        self._queues.reload()
