"""The message and the contract of duplicate detection."""

from typing import Protocol

import msgspec

from whimbrel.fetch.api import Fetched


class Fingerprinted(msgspec.Struct, frozen=True, gc=False):
    """A visit was made, and its payload was looked up."""

    fetched: Fetched
    digest: bytes
    """SHA-1 of the payload as received; empty when there is no response."""
    duplicate_of: str = ""
    """The URL that brought the same payload first; empty when none has, or when the answer is not a 2xx."""
    duplicate_at_s: float = 0.0
    """Wall clock of that capture; 0 when there is none."""


class ContentSeen(Protocol):
    """Which capture brought a payload first. Times are wall clock."""

    def find(self, digest: bytes) -> tuple[str, float] | None:
        """URL and time of the capture that brought it first; None when it is new."""

    def claim(self, digest: bytes, url: str, at_s: float) -> tuple[str, float] | None:
        """Remember a payload as part of the open group. When an earlier capture has it, nothing changes and that
        capture is returned: two visits of one group may bring the same bytes."""
