"""A frontier on a real database with a virtual clock, as a crawl has it, but for the network."""

import asyncio
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from tests.frontier.clock import VirtualClock
from whimbrel.frontier.disk_frontier import DiskFrontier
from whimbrel.frontier.gate import PacedGate
from whimbrel.frontier.option import FrontierConfig, GateConfig
from whimbrel.frontier.permit import LocalPermits
from whimbrel.frontier.seen import BloomSeen, DiskSeen, SeenConfig
from whimbrel.qualify.api import Qualification
from whimbrel.state.group import Group
from whimbrel.state.option import RocksConfig
from whimbrel.state.rocks import RocksState
from whimbrel.url import Url, parse
from whimbrel.visit import Discovered, HostName, Visit


@contextmanager
def quick_directory() -> Iterator[Path]:
    """In memory where the system has that: only the process dies in these tests, so nothing is gained by syncing."""
    memory = Path("/dev/shm")  # noqa: S108
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        yield Path(folder)


def opened_state(directory: Path) -> RocksState:
    state = RocksState(RocksConfig(directory=str(directory), cache_bytes=8_000_000, write_buffer_bytes=1_000_000))
    asyncio.run(state.open())
    return state


class Rig:
    """`commit` makes everything durable; `crash` forgets what is not and begins again from the disk."""

    def __init__(
        self,
        directory: Path,
        config: FrontierConfig | None = None,
        gate: GateConfig | None = None,
        seen: SeenConfig | None = None,
        make_seen: Callable[[], DiskSeen | BloomSeen] | None = None,
    ) -> None:
        self._directory = directory
        self.config = config or FrontierConfig()
        self._gate_config = gate or GateConfig(margin_s=0.0)
        self._make_seen = make_seen or (lambda: DiskSeen(seen or SeenConfig()))
        self.clock = VirtualClock()
        self._number = 0
        self._open()

    def _open(self) -> None:
        self.state = opened_state(self._directory)
        self.seen = self._make_seen()
        self.gate = PacedGate(self._gate_config)
        self.frontier = DiskFrontier(self.config)
        self.seen.bind("state", self.state)
        asyncio.run(self.seen.open())
        self.gate.bind("clock", self.clock)
        self.gate.bind("state", self.state)
        self.gate.bind("permits", LocalPermits())
        asyncio.run(self.gate.open())
        for name in ("state", "seen", "gate", "clock"):
            self.frontier.bind(name, getattr(self, name))
        asyncio.run(self.frontier.open())

    def seal(self) -> Group:
        self.frontier.flush()
        self._number += 1
        return self.state.seal(self._number)

    def write(self, group: Group) -> None:
        self.state.write(group)
        self.state.forget(group)

    def commit(self) -> None:
        self.write(self.seal())

    def crash(self, down_s: float = 0.0, **changed: Any) -> None:
        """The process dies and another one starts, perhaps with another configuration."""
        asyncio.run(self.state.close())
        self.clock = VirtualClock(self.clock.wall_ms + round(down_s * 1000), now_ms=77_000)
        self.config = msgspec.structs.replace(self.config, **changed)
        self._open()

    def close(self) -> None:
        asyncio.run(self.state.close())

    def add(self, text: str, depth: int = 0, redirects: int = 0) -> str:
        return self.frontier.add(Discovered(url_of(text), depth, redirects=redirects))

    def take(self) -> Visit | None:
        """What the frontier lets out now; its request is sent at once."""
        visit = self.frontier.take()
        if visit is not None and visit.address:
            self.gate.sent(visit.url, visit.address)
        return visit

    def qualify(self, *, address: str = "192.0.2.1", crawl_delay_s: float = 0.0, robots: str = "") -> list[HostName]:
        """Let the frontier ask for all its new hosts, and qualify them."""
        asked: list[HostName] = []
        while True:
            assert self.take() is None
            before = len(asked)
            while (due := self.frontier.take_host()) is not None:
                asked.append(due.host)
            if len(asked) == before:
                break
        for name in asked:
            found = qualified(self.clock, address, crawl_delay_s=crawl_delay_s, robots=robots)
            self.frontier.qualified(name, found)
        return asked

    def next(self, within_s: float = 1e9) -> Visit | None:
        """The next visit, however long it takes; None when time alone brings none."""
        end_s = self.clock.now_s() + within_s
        while (visit := self.take()) is None:
            due_s = self.frontier.due_in_s()
            if due_s is None or self.clock.now_s() + due_s > end_s:
                return None
            self.clock.advance(due_s)
        return visit


def url_of(text: str) -> Url:
    found = parse(text)
    assert found is not None
    return found


def qualified(
    clock: VirtualClock, *addresses: str, crawl_delay_s: float = 0.0, robots: str = "", hold_s: float = 1e6
) -> Qualification:
    until_s = clock.wall_s() + hold_s
    return Qualification("qualified", until_s, addresses, until_s, robots=robots, crawl_delay_s=crawl_delay_s)
