"""One of the gate's clocks."""

import ipaddress
from collections import deque
from collections.abc import Callable
from functools import lru_cache
from typing import Final

CROWD_GAP_S: Final = 0.001
"""What a place in the line of a pace without a delay is worth."""


class Pace:
    """One clock: at most `cap` in flight (0 is no limit), none before `free_s`, none while one is connecting."""

    __slots__ = (
        *("armed", "cap", "connecting", "crowd", "domains", "free_s", "gap_s", "in_flight", "line", "pleased"),
        "turn_s",
    )

    def __init__(self, free_s: float, cap: int, gap_s: float) -> None:
        self.free_s = free_s
        self.cap = cap
        self.gap_s = gap_s
        """The least time between two starts, as far as it is known: what a place in the line is worth."""
        self.in_flight = 0
        self.connecting = False
        """A request entered and has not been sent yet: to this host, or to this address."""
        self.line: deque[Callable[[], bool]] | None = None
        """Made for the first that waits: of a hundred thousand paces most never have a line."""
        self.armed = False
        self.crowd = False
        self.domains: set[str] | None = None
        self.pleased = 0
        self.turn_s = float("-inf")
        """The last turn that was given to a host for which the line was too long."""

    def become_crowd(self, cap: int) -> None:
        """From now on it has no delay, only a cap."""
        self.crowd, self.domains = True, None
        self.free_s = self.turn_s = float("-inf")
        self.gap_s, self.cap = CROWD_GAP_S, cap
        self.connecting = False

    def queue(self, called: Callable[[], bool]) -> None:
        if self.line is None:
            self.line = deque()
        self.line.append(called)

    def open(self, now_s: float) -> bool:
        return self.free_s <= now_s and (self.cap == 0 or self.in_flight < self.cap) and not self.connecting


@lru_cache(maxsize=10_000)
def network_of(address: str) -> str:
    """What counts as one address: IPv4 as it is, IPv6 by its first 64 bits."""
    if ":" not in address:
        return address
    return str(ipaddress.ip_network(f"{address}/64", strict=False).network_address)
