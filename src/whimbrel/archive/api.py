"""The archive's contract."""

from typing import Protocol

import msgspec

from whimbrel.parse.api import Visited


class Record(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One visit, as kept."""

    url: str
    outcome: str
    reason: str
    status: int = 0
    depth: int = 0
    bytes: int = 0
    title: str = ""
    links: int = 0
    address: str = ""
    discovered_from: str = ""
    started_at: float = 0.0
    elapsed_ms: float = 0.0


class Tally(msgspec.Struct, frozen=True, kw_only=True):
    """What has been kept so far."""

    visited: int
    bytes: int
    outcomes: dict[str, int]
    reasons: dict[str, int]
    """Counts of `outcome reason`."""


class Archive(Protocol):
    def keep(self, visited: Visited) -> None:
        """Take a settled visit in."""

    def tally(self) -> Tally: ...
