"""A group of changes on its way to the disk, and the view through several of them."""

from collections.abc import Iterable, Iterator
from typing import Final

from whimbrel.state.api import SPACES

Changes = dict[bytes, bytes | None]
"""New values by key; None stands for a deleted key."""

_NOTHING: Changes = {}
_CHANGE_BYTES: Final = 200
"""What a change takes besides its bytes: two objects, and a place in a dictionary."""


class Group:
    """The changes of one commit, by space and by the part of a space that scans stay within."""

    __slots__ = ("_spaces", "bytes", "number")

    def __init__(self, number: int) -> None:
        self.number = number
        self.bytes = 0
        """What its changes take in memory, about; one that was changed twice counts twice."""
        self._spaces: dict[str, dict[bytes, Changes]] = {space: {} for space in SPACES}

    def set(self, space: str, key: bytes, value: bytes | None) -> None:
        parts = self._spaces[space]
        part = key[: SPACES[space] or 0]
        changes = parts.get(part)
        if changes is None:
            changes = parts[part] = {}
        changes[key] = value
        self.bytes += _CHANGE_BYTES + len(key) if value is None else _CHANGE_BYTES + len(key) + len(value)

    def part(self, space: str, key: bytes) -> Changes:
        """The changes in the part of a space that a key is in; not to be written to."""
        return self._spaces[space].get(key[: SPACES[space] or 0], _NOTHING)

    def changes(self) -> Iterator[tuple[str, bytes, bytes | None]]:
        for space, parts in self._spaces.items():
            for part in parts.values():
                for key, value in part.items():
                    yield space, key, value

    def parts(self, space: str) -> Iterator[Changes]:
        """The changes in each part of a space; not to be written to."""
        yield from self._spaces[space].values()

    def keys(self, space: str) -> Iterator[bytes]:
        for part in self._spaces[space].values():
            yield from part

    def __len__(self) -> int:
        return sum(len(part) for parts in self._spaces.values() for part in parts.values())


def merged(
    layers: Iterable[Changes], stored: Iterator[tuple[bytes, bytes]], start: bytes, end: bytes, most: int
) -> list[tuple[bytes, bytes]]:
    """Stored pairs seen through layers of changes, the oldest layer first, in the order of keys."""
    changes: Changes = {}
    for layer in layers:
        if layer:
            changes.update(layer)
    if not changes:
        return [pair for pair, _ in zip(stored, range(most), strict=False)]
    found: list[tuple[bytes, bytes]] = []
    fresh = sorted(key for key in changes if start <= key < end)
    fresh.reverse()
    for key, value in stored:
        while fresh and fresh[-1] < key:
            _take(found, fresh.pop(), changes)
        if key not in changes:
            found.append((key, value))
        if len(found) >= most:
            return found[:most]
    while fresh and len(found) < most:
        _take(found, fresh.pop(), changes)
    return found[:most]


def _take(found: list[tuple[bytes, bytes]], key: bytes, changes: Changes) -> None:
    value = changes[key]
    if value is not None:
        found.append((key, value))
