"""`queue`: a bounded FIFO between tasks of one event loop."""

from collections import deque
from collections.abc import Sequence
from itertools import islice
from typing import Generic, TypeVar

from whimbrel.flow.api import Batch, Signal
from whimbrel.flow.error import ConnectorBroken

T = TypeVar("T")


class Queue(Generic[T]):
    """Meets `api.Connector`. Costs are per batch, not per item: items move by slices."""

    def __init__(self, name: str, capacity: int) -> None:
        self.name = name
        self.capacity = capacity
        self.lifted = False
        """While its consumer rests for a change the bound is lifted, so that a producer in a circle with it can finish
        what it has in hand and rest too; it takes up nothing new meanwhile."""
        self._items: deque[T] = deque()
        self.passed = 0
        """Items that were taken, those that were given back included."""
        self._unacknowledged = 0
        self._number = 0
        self._producers = 0
        self._finished = 0
        self._broken = ""
        self._readers: list[Signal] = []
        self._writers: list[Signal] = []

    @property
    def queued(self) -> int:
        return len(self._items)

    @property
    def room(self) -> int:
        used = len(self._items) + self._unacknowledged
        return self.capacity if self.lifted or self._broken else max(0, self.capacity - used)

    @property
    def unacknowledged(self) -> int:
        return self._unacknowledged

    @property
    def ready(self) -> bool:
        return bool(self._items)

    @property
    def ended(self) -> bool:
        return not self._items and self._producers > 0 and self._finished >= self._producers

    def offer(self, items: Sequence[T]) -> int:
        if self._broken:
            raise ConnectorBroken(self._broken)
        count = min(len(items), self.room)
        if count == 0:
            return 0
        self._items.extend(items if count == len(items) else islice(items, count))
        for reader in self._readers:
            reader.set()
        return count

    def take(self, most: int) -> Batch[T] | None:
        items = self._items
        if not items:
            return None
        if len(items) <= most:
            taken = list(items)
            items.clear()
        else:
            taken = [items.popleft() for _ in range(most)]
        self._unacknowledged += len(taken)
        self.passed += len(taken)
        self._number += 1
        return Batch(self._number, taken)

    def acknowledge(self, batch: Batch[T], count: int | None = None) -> None:
        self._unacknowledged -= len(batch.items)
        if count is not None and count < len(batch.items):
            self._items.extendleft(reversed(batch.items[count:]))
            self.passed -= len(batch.items) - count
            for reader in self._readers:
                reader.set()
        for writer in self._writers:
            writer.set()

    def resize(self, capacity: int) -> None:
        """What is beyond a smaller bound stays until it is taken."""
        self.capacity = capacity
        for writer in self._writers:
            writer.set()

    def hand_over(self) -> list[T]:
        """Give up everything that was not handed out, to another connector that takes this one's place."""
        items = list(self._items)
        self._items.clear()
        return items

    def adopt(self, items: list[T]) -> None:
        """Take what another connector gave up, before anything else and whatever the bound."""
        self._items.extendleft(reversed(items))

    def join(self) -> None:
        self._producers += 1

    def end(self) -> None:
        self._finished += 1
        for reader in self._readers:
            reader.set()

    def fail(self, reason: str) -> None:
        self._broken = self._broken or reason
        for writer in self._writers:
            writer.set()

    def watch(self, writer: Signal) -> None:
        if writer not in self._writers:
            self._writers.append(writer)

    def unwatch(self, writer: Signal) -> None:
        if writer in self._writers:
            self._writers.remove(writer)

    def listen(self, reader: Signal) -> None:
        if reader not in self._readers:
            self._readers.append(reader)

    def unlisten(self, reader: Signal) -> None:
        if reader in self._readers:
            self._readers.remove(reader)
