"""The queues of hosts and the URLs that wait to be tried again, as changes of the state."""

from whimbrel.frontier.host import BUFFER, Entry, Host, HostTable, decode_entry, encode_entry
from whimbrel.frontier.order import Order, class_of, end_of, head_key, queue_key
from whimbrel.frontier.schedule import due_key, due_of
from whimbrel.state.api import State
from whimbrel.url import Url

_WOKEN_AT_ONCE = 1_000
_NEVER = float("inf")


class Queues:
    """`number` counts every entry ever made; it is what makes keys unique, and is kept by the frontier."""

    def __init__(self, state: State, table: HostTable, order: Order, number: int, changes: int = 0) -> None:
        self._state = state
        self._table = table
        self.number = number
        self.arrange(order, changes)
        self._retry_s = 0.0
        """No entry waits to be tried again before this; 0 is not known yet."""

    def arrange(self, order: Order, changes: int) -> None:
        """The order of what is queued from now on, and how often it has changed."""
        self._order = order
        self._class = class_of(changes)

    def push(self, host: Host, url: Url, entry: Entry, *, first: bool) -> None:
        self.number += 1
        if first:
            key = head_key(host.id, self.number)
        else:
            key = queue_key(self._order, host.id, url, entry.depth, self.number, self._class)
        host.record.queued += 1
        self._put(host, key, encode_entry(entry))

    def _put(self, host: Host, key: bytes, value: bytes) -> None:
        self._state.put("queue", key, value)
        record = host.record
        if key < record.head or not record.head:
            record.head = key
        host.insert(key, value)
        self._table.change(host)

    def peek(self, host: Host) -> tuple[bytes, Entry] | None:
        """The next entry; None when the queue is empty, or all of it is under way."""
        if not host.buffer and not host.whole:
            self._refill(host)
        if not host.buffer:
            return None
        key, value = host.buffer[-1]
        return key, decode_entry(value)

    def pop(self, host: Host) -> None:
        """The entry that was peeked at goes under way. It stays on disk."""
        key, _ = host.buffer.pop()
        host.out.add(key)

    def settle(self, host: Host, key: bytes) -> None:
        """An entry that was under way is done with."""
        self._state.delete("queue", key)
        host.out.discard(key)
        host.record.queued -= 1
        self._move_head(host)

    def postpone(self, host: Host, key: bytes, entry: Entry, due_s: float) -> None:
        """An entry that was under way is to be tried again, not before a time."""
        self._state.delete("queue", key)
        host.out.discard(key)
        self._move_head(host)
        self._state.put("retry", due_key(due_s, key), encode_entry(entry))
        host.record.waiting += 1
        self._retry_s = min(self._retry_s, due_s)

    def wake(self, now_s: float) -> list[Host]:
        """Bring entries whose time has come back to the heads of their queues; returns their hosts."""
        if now_s < self._retry_s:
            return []
        found = self._state.scan("retry", b"", b"\xff", _WOKEN_AT_ONCE)
        woken = []
        self._retry_s = _NEVER
        for key, value in found:
            if due_of(key) > now_s:
                self._retry_s = due_of(key)
                break
            host = self._table.get(key[8:18])
            self._state.delete("retry", key)
            self.number += 1
            host.record.waiting -= 1
            self._put(host, head_key(host.id, self.number), value)
            woken.append(host)
        if len(woken) == _WOKEN_AT_ONCE:
            self._retry_s = now_s
        return woken

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
            host.buffer = [pair for pair in reversed(found) if pair[0] not in host.out]

    def _move_head(self, host: Host) -> None:
        """The queue's entries begin with one under way, with the nearest that was read, or after the last that was."""
        begins = [*host.out]
        if host.buffer:
            begins.append(host.buffer[-1][0])
        elif host.last:
            begins.append(host.last + b"\0")
        host.record.head = min(begins, default=b"")
        self._table.change(host)
