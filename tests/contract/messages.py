"""The smallest connector whose two sides only exchange messages: what the contract asks of `remote`, and no more.

The sender numbers items and keeps each until it has been acknowledged; the receiver takes the next number and drops
every other. The channel may lose and repeat messages. `settle` lets time pass: both sides say again what the other has
not confirmed, until nothing is under way.
"""

from collections import deque
from collections.abc import Sequence
from random import Random

from whimbrel.flow import Batch, ConnectorBroken
from whimbrel.flow.api import Signal


class Channel:
    """Two directions; each message is lost, delivered or delivered twice, as the dice say."""

    def __init__(self, lossy: bool) -> None:
        self._dice = Random(7) if lossy else None  # noqa: S311
        self.to_receiver: deque[tuple[str, int, int]] = deque()
        self.to_sender: deque[tuple[str, int]] = deque()

    def copies(self) -> int:
        return 1 if self._dice is None else self._dice.choice((0, 1, 1, 2))


class Sender:
    """Meets `Intake`."""

    def __init__(self, channel: Channel, capacity: int) -> None:
        self._channel = channel
        self._capacity = capacity
        self._kept: deque[tuple[int, int]] = deque()
        self._acknowledged = 0
        self._offered = 0
        self._producers = 0
        self._ended = 0
        self._broken = False
        self._writers: list[Signal] = []

    @property
    def room(self) -> int:
        return self._capacity - (self._offered - self._acknowledged)

    @property
    def outstanding(self) -> int:
        return self._offered - self._acknowledged

    def offer(self, items: Sequence[int]) -> int:
        if self._broken:
            raise ConnectorBroken("b failed")
        count = min(len(items), self.room)
        for item in items[:count]:
            self._offered += 1
            self._kept.append((self._offered, item))
        self.say()
        return count

    def join(self) -> None:
        self._producers += 1

    def end(self) -> None:
        self._ended += 1
        self.say()

    def watch(self, writer: Signal) -> None:
        self._writers.append(writer)

    def unwatch(self, writer: Signal) -> None:
        self._writers.remove(writer)

    def say(self) -> None:
        """Everything that has not been acknowledged, again."""
        messages = [("item", number, item) for number, item in self._kept]
        if self._ended >= self._producers > 0:
            messages.append(("end", self._offered, 0))
        for message in messages:
            self._channel.to_receiver.extend([message] * self._channel.copies())

    def hear(self) -> None:
        while self._channel.to_sender:
            kind, value = self._channel.to_sender.popleft()
            news = (kind == "failed" and not self._broken) or (kind == "done" and value > self._acknowledged)
            self._broken = self._broken or kind == "failed"
            if kind == "done":
                self._acknowledged = max(self._acknowledged, value)
                while self._kept and self._kept[0][0] <= self._acknowledged:
                    self._kept.popleft()
            if news:
                for writer in self._writers:
                    writer.set()


class Receiver:
    """Meets `Supply`."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._items: deque[int] = deque()
        self._received = 0
        self._done = 0
        self._number = 0
        self._end: int | None = None
        self._failed = False
        self._readers: list[Signal] = []

    @property
    def queued(self) -> int:
        return len(self._items)

    @property
    def ended(self) -> bool:
        return not self._items and self._end == self._received

    def take(self, most: int) -> Batch[int] | None:
        if not self._items:
            return None
        self._number += 1
        return Batch(self._number, [self._items.popleft() for _ in range(min(most, len(self._items)))])

    def acknowledge(self, batch: Batch[int], count: int | None = None) -> None:
        done = len(batch.items) if count is None else count
        self._items.extendleft(reversed(batch.items[done:]))
        self._done += done
        self.say()

    def fail(self, reason: str) -> None:
        self._failed = True
        self.say()

    def listen(self, reader: Signal) -> None:
        self._readers.append(reader)

    def unlisten(self, reader: Signal) -> None:
        self._readers.remove(reader)

    def say(self) -> None:
        messages = [("done", self._done)] + ([("failed", 0)] if self._failed else [])
        for message in messages:
            self._channel.to_sender.extend([message] * self._channel.copies())

    def hear(self) -> None:
        heard = False
        while self._channel.to_receiver:
            kind, number, item = self._channel.to_receiver.popleft()
            if kind == "item" and number == self._received + 1:
                self._received += 1
                self._items.append(item)
                heard = True
            elif kind == "end" and self._end is None:
                self._end = number
                heard = True
        if heard:
            for reader in self._readers:
                reader.set()


def settle(sender: Sender, receiver: Receiver) -> None:
    """Both sides repeat themselves often enough for every message to get through."""
    for _ in range(40):
        sender.say()
        receiver.hear()
        receiver.say()
        sender.hear()
