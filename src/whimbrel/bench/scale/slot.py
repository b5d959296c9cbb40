"""One slot of a large state moves to another: how long, how many bytes, and is everything there?

Every pair of both states is compared, in every space, by digests: before the move, the slot and the rest of the source;
after it, what is left in the source and what came to the target.
"""

import asyncio
import hashlib
import shutil
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import msgspec

from whimbrel.bench.scale.build import Size, build
from whimbrel.clock import SystemClock
from whimbrel.frontier.disk_frontier import DiskFrontier
from whimbrel.frontier.gate import PacedGate
from whimbrel.frontier.option import FrontierConfig, GateConfig
from whimbrel.frontier.permit import LocalPermits
from whimbrel.frontier.seen import DiskSeen, SeenConfig
from whimbrel.simweb.spec import WebSpec
from whimbrel.simweb.web import Web
from whimbrel.state.api import SPACES
from whimbrel.state.option import RocksConfig
from whimbrel.state.rocks import RocksState
from whimbrel.state.secret import NAME as SECRET
from whimbrel.url import slot as slot_of

_PAGE: Final = 10_000
_DELETED_AT_ONCE: Final = 50_000
_PER_COMMIT: Final = 10
"""Chunks."""
_SLOT_AT: Final = {"due": 9, "retry": 8}
"""Where the slot stands in keys that begin with a time."""


class SlotMove(msgspec.Struct, frozen=True, kw_only=True):
    urls: int
    """In the whole state."""
    slot_urls: int
    pairs: int
    """Of the slot, in all spaces but the derived ones."""
    pair_bytes: int
    """Of their keys and values."""
    exported_bytes: int
    export_s: float
    import_s: float
    delete_s: float
    state_bytes: int
    """Of the whole state on disk, before."""
    left_behind: int
    """Pairs of the slot in the source after the move; 0 when all is well."""
    unchanged: bool
    """The slot is the same in the target as it was, and the rest of the source is as it was."""

    @property
    def met(self) -> bool:
        return self.unchanged and not self.left_behind


class _Contents(msgspec.Struct):
    """What a state holds of a slot, or besides it."""

    digest: str
    pairs: dict[str, int]


def move_slot(urls: int, work: Path, say: Callable[[str], None]) -> SlotMove:
    """Build a state of so many URLs in `work`, four fifths of them on one host, and move that host's slot."""
    hosts = max(10, urls // 100)
    size = Size(hosts=hosts, per_host=3, one_host=urls * 4 // 5, taken=urls // 50, known=urls)
    web = Web(WebSpec(hosts=hosts + 1, pages=3, hosts_per_domain=1))
    for name in ("source", "target"):
        shutil.rmtree(work / name, ignore_errors=True)
        (work / name).mkdir(parents=True)
    began_s = time.monotonic()
    built = build(work / "source", web, size, say)
    say(f"built {built.known:,} known and {built.queued:,} queued URLs in {time.monotonic() - began_s:.0f} s")
    shutil.copy(work / "source" / SECRET, work / "target" / SECRET)
    slot = slot_of(web.hosts.origin(0).split("/")[2].partition(":")[0])
    return asyncio.run(_move(work, slot, built.known, built.state_bytes))


async def _move(work: Path, slot: int, urls: int, state_bytes: int) -> SlotMove:
    source, target = _Node(work / "source"), _Node(work / "target")
    await source.open()
    await target.open()
    before, rest = source.contents(slot, inside=True), source.contents(slot, inside=False)
    exported, export_s, import_s = 0, 0.0, 0.0
    began_s = time.perf_counter()
    for number, chunk in enumerate(source.frontier.transfer.export(slot)):
        export_s += time.perf_counter() - began_s
        exported += len(chunk)
        began_s = time.perf_counter()
        last = target.frontier.transfer.take_in(chunk).last
        if number % _PER_COMMIT == 0 or last:
            target.commit()
        import_s += time.perf_counter() - began_s
        began_s = time.perf_counter()
    while source.frontier.transfer.delete(slot, _DELETED_AT_ONCE):
        source.commit()
    delete_s = time.perf_counter() - began_s
    left = source.contents(slot, inside=True)
    unchanged = target.contents(slot, inside=True) == before and source.contents(slot, inside=False) == rest
    pair_bytes = target.pair_bytes(slot)
    await source.close()
    await target.close()
    return SlotMove(
        urls=urls,
        slot_urls=before.pairs["urls"],
        pairs=sum(count for space, count in before.pairs.items() if space not in _SLOT_AT),
        pair_bytes=pair_bytes,
        exported_bytes=exported,
        export_s=export_s,
        import_s=import_s,
        delete_s=delete_s,
        state_bytes=state_bytes,
        left_behind=sum(left.pairs.values()),
        unchanged=unchanged,
    )


class _Node:
    """A state with its frontier, and commits of its own."""

    def __init__(self, directory: Path) -> None:
        self.state = RocksState(RocksConfig(directory=str(directory)))
        self.frontier = DiskFrontier(FrontierConfig())
        self._parts: dict[str, Any] = {
            "clock": SystemClock(),
            "state": self.state,
            "seen": DiskSeen(SeenConfig()),
            "permits": LocalPermits(),
            "gate": PacedGate(GateConfig()),
            "frontier": self.frontier,
        }
        self._commits = 0
        for part in self._parts.values():
            for need in part.needs:
                part.bind(need, self._parts[need])

    async def open(self) -> None:
        for part in self._parts.values():
            await part.open()
        self.commit()

    async def close(self) -> None:
        for part in reversed(self._parts.values()):
            await part.close()

    def commit(self) -> None:
        self._commits += 1
        self.frontier.flush()
        group = self.state.seal(self._commits)
        self.state.write(group)
        self.state.forget(group)

    def contents(self, slot: int, *, inside: bool) -> _Contents:
        digest, counts = hashlib.blake2b(), Counter[str]()
        for space in SPACES:
            if space == "meta":
                continue
            for key, value in self._pairs(space):
                at = _SLOT_AT.get(space, 0)
                if (int.from_bytes(key[at : at + 2], "big") == slot) == inside:
                    digest.update(b"%s %d %d " % (space.encode(), len(key), len(value)) + key + value)
                    counts[space] += 1
        return _Contents(digest.hexdigest(), {space: counts[space] for space in SPACES})

    def pair_bytes(self, slot: int) -> int:
        spaces = [space for space in SPACES if space not in ("meta", *_SLOT_AT)]
        start = slot.to_bytes(2, "big")
        return sum(
            len(key) + len(value) for space in spaces for key, value in self._pairs(space) if key.startswith(start)
        )

    def _pairs(self, space: str) -> Any:
        start = b""
        while pairs := self.state.pairs(space, start, b"\xff" * 40, _PAGE):
            yield from pairs
            start = pairs[-1][0] + b"\0"
