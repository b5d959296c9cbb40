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
        self._kept: dict[int, int] = {}
        """Items by number, until each has been acknowledged."""
        self._offered = 0
        self._producers = 0
        self._ended = 0
        self._broken = False
        self._writers: list[Signal] = []

    @property
    def room(self) -> int:
        return self._capacity if self._broken else self._capacity - len(self._kept)

    def offer(self, items: Sequence[int]) -> int:
        if self._broken:
            raise ConnectorBroken("b failed")
        count = min(len(items), self.room)
        for item in items[:count]:
            self._offered += 1
            self._kept[self._offered] = item
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
        messages = [("item", number, item) for number, item in self._kept.items()]
        if self._ended >= self._producers > 0:
            messages.append(("end", self._offered, 0))
        for message in messages:
            self._channel.to_receiver.extend([message] * self._channel.copies())

    def hear(self) -> None:
        news = False
        while self._channel.to_sender:
            kind, number = self._channel.to_sender.popleft()
            if kind == "done":
                news |= self._kept.pop(number, None) is not None
            else:
                news |= not self._broken
                self._broken = True
        if news:
            for writer in self._writers:
                writer.set()


class Receiver:
    """Meets `Supply`."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._items: deque[tuple[int, int]] = deque()
        self._handed_out: dict[int, list[int]] = {}
        """The numbers of the items in each batch."""
        self._received = 0
        self._done: list[int] = []
        self._number = 0
        self._end: int | None = None
        self._failed = False
        self._readers: list[Signal] = []

    @property
    def ready(self) -> bool:
        return bool(self._items)

    @property
    def ended(self) -> bool:
        return not self._items and self._end == self._received

    def take(self, most: int) -> Batch[int] | None:
        if not self._items:
            return None
        self._number += 1
        taken = [self._items.popleft() for _ in range(min(most, len(self._items)))]
        self._handed_out[self._number] = [number for number, _ in taken]
        return Batch(self._number, [item for _, item in taken])

    def acknowledge(self, batch: Batch[int], count: int | None = None) -> None:
        numbers = self._handed_out.pop(batch.number)
        done = len(batch.items) if count is None else count
        given_back = list(zip(numbers[done:], batch.items[done:], strict=True))
        self._items.extendleft(reversed(given_back))
        self._done += numbers[:done]
        self.say()

    def fail(self, reason: str) -> None:
        self._failed = True
        self.say()

    def listen(self, reader: Signal) -> None:
        self._readers.append(reader)

    def unlisten(self, reader: Signal) -> None:
        self._readers.remove(reader)

    def say(self) -> None:
        messages = [("done", number) for number in self._done] + ([("failed", 0)] if self._failed else [])
        for message in messages:
            self._channel.to_sender.extend([message] * self._channel.copies())

    def hear(self) -> None:
        heard = False
        while self._channel.to_receiver:
            kind, number, item = self._channel.to_receiver.popleft()
            if kind == "item" and number == self._received + 1:
                self._received += 1
                self._items.append((number, item))
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
