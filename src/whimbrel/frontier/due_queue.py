"""Which host is due next: the near ones in memory, all of them on disk.

On disk a host that has work stands once in the space `due`, under the queue it waits in and its time; its record has
the same key, so that the space can be rebuilt. In memory is the head of that order: every host whose key is at or
before `_loaded`. When the head runs low more is read; when it grows too long its end is forgotten, since the disk has
it. So a million hosts that wait cost as much memory as a thousand.
"""

import heapq
from collections.abc import Iterator
from typing import Final

from whimbrel.frontier.order import time_bytes, time_of
from whimbrel.state.api import State

_LAST: Final = b"\xff" * 18
_PAGE: Final = 4_096


class DueQueue:
    """Times are the crawl's own (`crawl_time.py`), kept to the millisecond. `kind` is the byte that
    a queue's keys begin with."""

    def __init__(self, state: State, kind: bytes, *, most: int = 50_000, page: int = _PAGE) -> None:
        self._state = state
        self._kind = kind
        self._most = most
        self._page = page
        self._heap: list[bytes] = []
        self._loaded = kind
        self._end = kind + _LAST

    def set(self, host: bytes, due_s: float, before: bytes) -> bytes:
        """Put a host at a time. `before` is the key it stood under, in any queue, or empty; returns the new one."""
        key = self._kind + time_bytes(due_s) + host
        if key != before:
            if before:
                self._state.delete("due", before)
            self._state.put("due", key, b"")
        # Also when it is the same: it may have been taken out of memory by `pop`.
        if key <= self._loaded:
            heapq.heappush(self._heap, key)
            if len(self._heap) > 2 * self._most:
                self._shorten()
        return key

    def remove(self, key: bytes) -> None:
        """The host has nothing to do any more. Its place in memory is found stale when its time comes."""
        if key:
            self._state.delete("due", key)

    def pop(self, now_s: float) -> bytes | None:
        """The key of the next host that is due, or None. It stays on disk until `set` or `remove`; a key that no longer
        is its host's is for the caller to overlook."""
        if not self._heap:
            self._load()
        if not self._heap or time_of(self._heap[0][1:]) > now_s:
            return None
        return heapq.heappop(self._heap)

    def next_s(self) -> float | None:
        """When the next host is due; None when none waits."""
        if not self._heap:
            self._load()
        return time_of(self._heap[0][1:]) if self._heap else None

    def each(self) -> Iterator[bytes]:
        """The keys of all hosts, in order. They may be changed meanwhile."""
        start = self._kind
        while found := self._state.scan("due", start, self._end, self._page):
            for key, _ in found:
                yield key
            start = found[-1][0] + b"\0"

    def reload(self) -> None:
        """Read the head from the disk again."""
        self._heap = []
        self._loaded = self._kind

    def _load(self) -> None:
        if self._loaded == self._end:
            return
        found = self._state.scan("due", self._loaded + b"\0", self._end, self._page)
        self._heap = [key for key, _ in found]  # Sorted, hence a heap.
        self._loaded = found[-1][0] if len(found) == self._page else self._end

    def _shorten(self) -> None:
        self._heap = heapq.nsmallest(self._most, self._heap)
        self._loaded = self._heap[-1]


def host_of(key: bytes) -> bytes:
    """The host of a queue's key."""
    return key[9:]
