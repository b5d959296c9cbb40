"""The contract of the state: keys in spaces, changed in groups."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Protocol

from whimbrel.error import Busy, Damaged, StorageTrouble, UsageError, WhimbrelError

if TYPE_CHECKING:
    from whimbrel.state.group import Group

SLOT_BYTES: Final = 2
"""The slot that a key begins with, big endian."""

SPACES: Final[dict[str, int | None]] = {
    "urls": None,
    "content": None,
    "queue": 10,
    "hosts": None,
    "robots": None,
    "counts": None,
    "slots": None,
    "addresses": None,
    "due": 0,
    "retry": 0,
    "meta": None,
}
"""Each space with the length of the key's part that a scan stays within; None where single keys are looked up."""

SLOT_SPACES: Final = ("urls", "content", "queue", "hosts", "robots", "counts", "slots", "addresses")
"""Spaces whose keys begin with a slot: together they are all there is of one. `due` and `retry` are ordered by time,
and are derived from `hosts` and `queue`; `meta` is of the crawl as a whole."""


class StateError(WhimbrelError):
    """The state cannot be used; the message says why and what to do."""


class StateLocked(StateError, Busy):
    """Another process has it open."""


class StateTooNew(StateError, UsageError):
    """A later version of Whimbrel wrote it."""


class StateDamaged(StateError, Damaged):
    """It cannot be opened. Nothing but the state is: `verify` reads archive and tables."""

    remedy = ""


class StateFull(StateError, StorageTrouble):
    """There is no room to open it again after a write that failed."""


class StateUnavailable(StateError, StorageTrouble):
    """The system does not let us open or read its files, for the moment: descriptors, memory, permissions, the disk."""


class StateTooOld(StateError, UsageError):
    """An earlier version of Whimbrel wrote it, and it has not been upgraded yet."""


class StoredPairs(Protocol):
    """Keys in spaces, to be read."""

    def get(self, space: str, key: bytes) -> bytes | None:
        """The value of a key; None when there is none. A value may be empty."""

    def scan(self, space: str, start: bytes, end: bytes, most: int) -> list[tuple[bytes, bytes]]:
        """Up to `most` pairs with start <= key < end, in the order of keys. Both ends lie in one part of the space."""


class KeyValues(StoredPairs, Protocol):
    """Keys in spaces: all that most parts need of the state. Reads see everything that was put."""

    def put(self, space: str, key: bytes, value: bytes) -> None: ...

    def delete(self, space: str, key: bytes) -> None:
        """The key need not be there."""


class State(KeyValues, Protocol):
    """Reads see everything that was put; changes go to the open group, which becomes durable as a whole.

    `write` and `stored` are called from the committer's thread, everything else from the event loop's. Both may run at
    once, but for `reopen`: it is called while the committer rests.
    """

    @property
    def secret(self) -> bytes:
        """The key of all hashes of the crawl."""

    def pairs(self, space: str, start: bytes, end: bytes, most: int) -> list[tuple[bytes, bytes]]:
        """As `scan`, across parts, and slower: each call looks at every change that is not forgotten."""

    def keys(self, space: str) -> Iterator[bytes]:
        """All keys of a space, for a filter that is built from them. Deleted keys may be among them, and a key may come
        twice."""

    @property
    def changed(self) -> int:
        """How many keys the open group changes."""

    @property
    def changed_bytes(self) -> int:
        """What these changes take in memory, about."""

    def seal(self, number: int) -> "Group":
        """End the open group and begin the next. The sealed one stays visible until it is forgotten."""

    def write(self, group: "Group", meta: Mapping[bytes, bytes] = MappingProxyType({})) -> None:
        """Make a sealed group durable, all of it or nothing, and with it these keys of the space `meta`.

        After an OSError the state has `failed`: the group may be there or not. It may be written again once the state
        is reopened.
        """

    def stored(self, space: str, key: bytes) -> bytes | None:
        """What is durable, whatever the groups in memory say. OSError when a failed write leaves that open."""

    def forget(self, group: "Group") -> None:
        """The write of the oldest sealed group has returned: its changes are read from the disk from now on."""

    @property
    def failed(self) -> bool:
        """A write failed: the state takes no other until it is reopened."""

    def reopen(self) -> None:
        """After a write that failed: what it left is now there as a whole or not at all, as `stored` tells.

        StateError when there is no room for that yet; the state can be read all the same.
        """
