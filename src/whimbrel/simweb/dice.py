"""Chance without state: numbers drawn from a seed and a name by hashing.

Every property of the simulated web is drawn here, so the same seed gives the same web in every run, process and
machine. Python's own `hash` and `random` are not used: the first differs between processes, the second keeps state.
"""

import hashlib
import struct
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Final, Generic, TypeVar

T = TypeVar("T")

_U32: Final = 2**32


class Dice:
    """Draws 32-bit numbers for (kind, a, b), independent between kinds."""

    __slots__ = ("_prefix",)

    def __init__(self, seed: int) -> None:
        self._prefix = b"whimbrel simweb 1 %d " % seed

    def draws(self, count: int, kind: bytes, a: int, b: int = 0) -> tuple[int, ...]:
        """`count` numbers in 0 .. 2**32 - 1."""
        data = hashlib.shake_128(self._prefix + kind + struct.pack("<QQ", a, b)).digest(4 * count)
        return struct.unpack(f"<{count}I", data)

    def share(self, kind: bytes, a: int, b: int = 0) -> float:
        """One number in [0, 1)."""
        return self.draws(1, kind, a, b)[0] / _U32


class Shares(Generic[T]):
    """A choice among values with probabilities; what they leave of 1 falls to `rest`."""

    __slots__ = ("_bounds", "_rest", "_values")

    def __init__(self, shares: Mapping[T, float], rest: T) -> None:
        total = sum(shares.values())
        if total > 1.0 + 1e-9 or any(share < 0 for share in shares.values()):
            raise ValueError(f"shares must not be negative and must not add up to more than 1 (they give {total:g})")
        self._values: Sequence[T] = tuple(shares)
        self._bounds = list(accumulate(shares.values()))
        self._rest = rest

    def pick(self, draw: int) -> T:
        at = bisect_right(self._bounds, draw / _U32)
        return self._values[at] if at < len(self._values) else self._rest
