"""The queues of hosts and the URLs that wait to be tried again, as changes of the state."""

from whimbrel.frontier.entry import (
    NEW_URL,
    QueueEntry,
    UrlRecord,
    decode_entry,
    decode_url,
    encode_entry,
    encode_url,
)
from whimbrel.frontier.host import BUFFER, Host, HostTable
from whimbrel.frontier.order import (
    HOST_BYTES,
    Order,
    class_of,
    end_of,
    head_key,
    queue_key,
    retry_key,
    time_of,
    waiting_key,
)
from whimbrel.state.api import State
from whimbrel.url import Url, restore

_WOKEN_AT_ONCE = 1_000
_TIME_BYTES = 8
_NEVER = float("inf")


class Queues:
    """All entries of a host are in its part of `queue`, also those that wait to be tried again; `retry` has the keys of
    these by time, and can be rebuilt from them. The record of a URL in `urls` knows the key of its entry."""

    def __init__(self, state: State, table: HostTable, order: Order, changes: int = 0) -> None:
        self._state = state
        self._table = table
        self.arrange(order, changes)
        self._retry_s = 0.0
        """No entry waits to be tried again before this; 0 is not known yet."""

    def arrange(self, order: Order, changes: int) -> None:
        """The order of what is queued from now on, and how often it has changed."""
        self._order = order
        self._class = class_of(changes)

    def push(self, host: Host, url: Url, url_key: bytes, entry: QueueEntry, *, first: bool, known: UrlRecord) -> None:
        """Queue a URL; `known` is its record so far."""
        record = host.record
        record.number += 1
        if first:
            key = head_key(host.id, record.number)
        else:
            key = queue_key(self._order, host.id, url, entry.depth, record.number, self._class)
        record.queued += 1
        self._put(host, key, encode_entry(entry))
        self._point(url_key, key, known)

    def record(self, url_key: bytes) -> UrlRecord | None:
        """What is kept of a URL; None when it is not known."""
        found = self._state.get("urls", url_key)
        return None if found is None else decode_url(found)

    def entry(self, record: UrlRecord) -> QueueEntry | None:
        """The entry of a URL; None when it is not queued."""
        found = self._state.get("queue", record.entry) if record.entry else None
        return None if found is None else decode_entry(found)

    def _point(self, url_key: bytes, key: bytes, known: UrlRecord) -> None:
        self._state.put("urls", url_key, encode_url(UrlRecord(key, known.credit, known.due_s)))

    def _move(self, entry: QueueEntry, key: bytes) -> None:
        """The entry of a URL has another key from now on."""
        url_key = self._table.url_key(restore(entry.url))
        self._point(url_key, key, self.record(url_key) or NEW_URL)

    def _put(self, host: Host, key: bytes, value: bytes) -> None:
        self._state.put("queue", key, value)
        record = host.record
        if key < record.head or not record.head:
            record.head = key
        host.insert(key, value)
        self._table.change(host)

    def peek(self, host: Host) -> tuple[bytes, QueueEntry] | None:
        """The next entry; None when the queue is empty, or all of it is under way."""
        if not host.buffer and not host.whole:
            self._refill(host)
        if not host.buffer:
            return None
        key, value = host.buffer[-1]
        return key, decode_entry(value)

    def pop(self, host: Host) -> None:
        """The entry that was peeked at goes under way. It stays on disk."""
        host.pop()
        self._table.count(host)

    def put_back(self, host: Host, key: bytes) -> None:
        """An entry that was under way waits again where it was."""
        host.out.discard(key)
        value = self._state.get("queue", key)
        if value is None:
            raise AssertionError(f"an entry under way is not in its queue: {key.hex()}")
        host.insert(key, value)

    def remove(self, host: Host, key: bytes) -> None:
        """An entry that was under way is done with."""
        self._state.delete("queue", key)
        host.out.discard(key)
        host.record.queued -= 1
        self._move_head(host)

    def postpone(self, host: Host, key: bytes, entry: QueueEntry, due_s: float) -> None:
        """An entry that was under way is to be tried again, not before a time."""
        self._state.delete("queue", key)
        host.out.discard(key)
        self._move_head(host)
        host.record.number += 1
        waiting = waiting_key(host.id, due_s, host.record.number)
        self._state.put("queue", waiting, encode_entry(entry))
        self._state.put("retry", retry_key(waiting), b"")
        self._move(entry, waiting)
        host.record.waiting += 1
        self._retry_s = min(self._retry_s, due_s)

    def wake(self, now_s: float) -> list[Host]:
        """Bring entries whose time has come back to the heads of their queues; returns their hosts."""
        if now_s < self._retry_s:
            return []
        found = self._state.scan("retry", b"", b"\xff", _WOKEN_AT_ONCE)
        woken = []
        self._retry_s = _NEVER
        for key, _ in found:
            if time_of(key) > now_s:
                self._retry_s = time_of(key)
                break
            woken.append(self._wake(key[_TIME_BYTES:], key))
        if len(woken) == _WOKEN_AT_ONCE:
            self._retry_s = now_s
        return woken

    def _wake(self, waiting: bytes, by_time: bytes) -> Host:
        host = self._table.get(waiting[:HOST_BYTES])
        value = self._state.get("queue", waiting)
        if value is None:
            raise AssertionError(f"an entry that waits is not in its queue: {waiting.hex()}")
        self._state.delete("retry", by_time)
        self._state.delete("queue", waiting)
        host.record.number += 1
        host.record.waiting -= 1
        key = head_key(host.id, host.record.number)
        self._put(host, key, value)
        self._move(decode_entry(value), key)
        return host

    def reload(self) -> None:
        """Others have changed what waits to be tried again."""
        self._retry_s = 0.0

    @property
    def retry_s(self) -> float | None:
        """When the next entry is to be tried again; None when none is."""
        return None if self._retry_s == _NEVER else self._retry_s

    def _refill(self, host: Host) -> None:
        start = host.last + b"\0" if host.last else host.record.head or host.id
        while not host.buffer and not host.whole:
            found = self._state.scan("queue", start, end_of(host.id), BUFFER)
            host.whole = len(found) < BUFFER
            if found:
                host.last = found[-1][0]
                start = host.last + b"\0"
            # Those under way are still on disk, and may be beyond what was left in the buffer when it was cut.
            host.fill([pair for pair in reversed(found) if pair[0] not in host.out])
        self._table.count(host)

    def _move_head(self, host: Host) -> None:
        """The queue's entries begin with one under way, with the nearest that was read, or after the last that was.
        Where none was read, nobody knows."""
        if not (host.buffer or host.last or host.whole):
            self._table.change(host)
            return
        begins = [*host.out]
        if host.buffer:
            begins.append(host.buffer[-1][0])
        elif host.last:
            begins.append(host.last + b"\0")
        host.record.head = min(begins, default=b"")
        self._table.change(host)
