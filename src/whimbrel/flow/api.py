"""The contract of a connector between two tasks: what `queue` meets now and `remote` will meet.

`direct` has no two tasks: its producer calls its consumer, so order, bound and back-pressure hold by themselves.
"""

from collections.abc import Sequence
from typing import Generic, NamedTuple, Protocol, TypeVar

T = TypeVar("T")
T_contra = TypeVar("T_contra", contravariant=True)


class Batch(NamedTuple, Generic[T]):
    """Items on their way to one consumer. Numbers rise by one from 1 for each batch that a connector hands out; a batch
    that was given back comes again under a new number."""

    number: int
    items: list[T]


class Signal(Protocol):
    """What a connector calls when its state changes for one of its sides. Must not block or raise."""

    def set(self) -> None: ...


class Intake(Protocol[T_contra]):
    """A connector as its producers see it."""

    @property
    def room(self) -> int:
        """How many items `offer` would take now; never 0 once it would raise, so that who asks first learns of it."""

    def offer(self, items: Sequence[T_contra]) -> int:
        """Take items from the front as far as there is room; returns how many. 0 means: wait for the writer signal.

        Raises ConnectorBroken once nobody consumes any more.
        """

    def join(self) -> None:
        """One more producer will use this connector and end it."""

    def end(self) -> None:
        """One producer will offer no more."""

    def watch(self, writer: Signal) -> None:
        """Tell a writer of room and of failure."""

    def unwatch(self, writer: Signal) -> None: ...


class Supply(Protocol[T]):
    """A connector as its consumers see it."""

    @property
    def ready(self) -> bool:
        """`take` would give something now."""

    @property
    def ended(self) -> bool:
        """No item is left and none will come."""

    def take(self, most: int) -> Batch[T] | None:
        """Hand out up to `most` items, in order. None: nothing now; wait for the reader signal, unless `ended`."""

    def acknowledge(self, batch: Batch[T], count: int | None = None) -> None:
        """The first `count` items of a batch (all when None) are done with, and with them everything they produced.

        With a count below its length the rest of the batch goes back to the front of the connector, in order; 0 gives
        the whole batch back.
        """

    def fail(self, reason: str) -> None:
        """Nobody consumes any more."""

    def listen(self, reader: Signal) -> None:
        """Tell a reader of new items and of the end."""

    def unlisten(self, reader: Signal) -> None: ...


class Connector(Intake[T], Supply[T], Protocol[T]):
    """An ordered, bounded way from the instances of one output port to the instances of one input port.

    Order: items are handed out in the order they were taken. With several consumers each item goes to one of them.
    Bound: `queued + unacknowledged` never exceeds the capacity, so a consumer that does not acknowledge stops its
    producer. End: each producer ends its side once; when the last has, the consumers get what is left and then see
    `ended`. Failure: when a consumer dies its unacknowledged batches are given back; when nobody is left to consume,
    `fail` makes every later `offer` raise ConnectorBroken. Items that were taken stay, and are counted in the job's
    report.

    The two sides of a connector between machines are two objects. They must in addition survive a lost or repeated
    message: the sender keeps an item until its acknowledgement has come, the receiver drops what it has had before.
    """

    @property
    def queued(self) -> int:
        """Items taken and not handed out."""

    @property
    def unacknowledged(self) -> int:
        """Items handed out and not yet acknowledged."""
