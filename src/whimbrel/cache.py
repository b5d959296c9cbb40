"""A cache with a budget in bytes: servers decide how long entries are, so that to count them would bound nothing."""

from collections.abc import Callable, Hashable
from typing import Final, Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")

ENTRY_BYTES: Final = 200
"""What an entry takes besides its characters: two objects and a place in a dictionary, of which a third is empty."""


class ByteCache(Generic[Key, Value]):
    """Keeps what was used lately. When the younger half of the budget is full the older half is forgotten, but not what
    was asked for since. An entry that would take more than a sixteenth of the budget is not kept.

    `size_of` says how many bytes the characters of an entry take, about. Nothing may depend on an entry being there.
    """

    __slots__ = ("_half_bytes", "_old", "_size_of", "_young_bytes", "young")

    def __init__(self, most_bytes: int, size_of: Callable[[Key, Value], int]) -> None:
        self._half_bytes = most_bytes // 2
        self._size_of = size_of
        self.young: dict[Key, Value] = {}
        """The younger half, for callers that look up dozens of keys at once. It is another one after each `put`."""
        self._old: dict[Key, Value] = {}
        self._young_bytes = 0

    def get(self, key: Key) -> Value | None:
        found = self.young.get(key)
        if found is None and self._old:
            found = self._old.pop(key, None)
            if found is not None:
                self.put(key, found)
        return found

    def put(self, key: Key, value: Value) -> None:
        size = ENTRY_BYTES + self._size_of(key, value)
        if 8 * size > self._half_bytes:
            return
        self._young_bytes += size
        if self._young_bytes > self._half_bytes:
            self._old, self.young, self._young_bytes = self.young, {}, size
        self.young[key] = value

    def clear(self) -> None:
        self.young, self._old, self._young_bytes = {}, {}, 0

    def __len__(self) -> int:
        return len(self.young) + len(self._old)
