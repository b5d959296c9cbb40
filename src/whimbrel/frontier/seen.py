"""URL-seen: exact on disk, or a Bloom filter in front of the same keys.

Both own the keys of the space `urls`; the frontier writes where a URL's entry is as their values."""

import asyncio
import math
from typing import Final

from whimbrel.flow import Config, Metric, Needs, Provider
from whimbrel.state.api import KeyValues, State

_AT_ONCE: Final = 2_000
"""Keys that a filter is given before others get a turn."""


class SeenConfig(Config, frozen=True):
    cached: int = 100_000
    """Keys kept in memory: recent ones, and among them the popular."""


class DiskSeen(Provider):
    """Exact. A key that was asked for lately is answered from memory; when that is full the older half goes, but not
    those that were asked for again."""

    Config = SeenConfig
    metrics = (
        Metric("seen_asked_total", "counter", "URLs that URL-seen was asked about.", lambda own: own.asked),
        Metric("seen_from_memory_total", "counter", "Of these, answered from memory.", lambda own: own.from_memory),
    )
    state = Needs(KeyValues)

    def __init__(self, config: SeenConfig) -> None:
        super().__init__(config)
        self._young: set[bytes] = set()
        self._old: set[bytes] = set()
        self.asked = 0
        self.from_memory = 0

    def add(self, key: bytes) -> bool:
        self.asked += 1
        if key in self._young:
            self.from_memory += 1
            return False
        if key in self._old:
            self.from_memory += 1
            self._remember(key)
            return False
        state = self.state
        known = state.get("urls", key) is not None
        if not known:
            state.put("urls", key, b"")
        self._remember(key)
        return not known

    def _remember(self, key: bytes) -> None:
        self._young.add(key)
        if len(self._young) > self.config.cached // 2:
            self._old, self._young = self._young, set()


class BloomConfig(Config, frozen=True):
    urls: int = 10_000_000
    """How many it is made for; with more it errs more often."""
    error: float = 0.001
    """The share of new URLs that it takes for known at that size: these are never visited."""


class BloomSeen(Provider):
    """A Bloom filter in memory. Exact keys are written all the same, so that the exact provider can take over at any
    time, and the filter is built from them when the crawl is resumed, or when it takes the exact provider's place in a
    crawl that goes on meanwhile. Hence the disk has the last word on a key that the filter does not know; for those it
    knows, which are most, nobody asks the disk."""

    Config = BloomConfig
    state = Needs(State)

    async def open(self) -> None:
        config: BloomConfig = self.config
        bits = max(64, math.ceil(-config.urls * math.log(config.error) / math.log(2) ** 2))
        self._hashes = max(1, round(bits / config.urls * math.log(2)))
        self._size = bits
        self._bits = bytearray((bits + 7) // 8)
        for number, key in enumerate(self.state.keys("urls"), 1):
            self._mark(key)
            if number % _AT_ONCE == 0:
                await asyncio.sleep(0)

    def add(self, key: bytes) -> bool:
        if not self._mark(key) or self.state.get("urls", key) is not None:
            return False
        self.state.put("urls", key, b"")
        return True

    def _mark(self, key: bytes) -> bool:
        """Set the bits of a key; true when one of them was not set."""
        bits, size = self._bits, self._size
        # After the slot, which says little, there are 128 bits of a hash.
        at, step = int.from_bytes(key[-16:-8], "little"), int.from_bytes(key[-8:], "little") | 1
        new = False
        for _ in range(self._hashes):
            where = at % size
            mask = 1 << (where & 7)
            if not bits[where >> 3] & mask:
                bits[where >> 3] |= mask
                new = True
            at += step
        return new
