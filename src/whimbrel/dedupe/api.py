"""The message and the contract of duplicate detection."""

from collections.abc import Callable
from typing import Protocol

import msgspec

from whimbrel.fetch.api import Exchange
from whimbrel.visit import Visit


class FirstCapture(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """The capture that brought a payload first."""

    url: str
    at_s: float
    """Wall clock."""
    legacy_id: int | None = None
    """What the tables call it, if format 1 wrote it; None: what follows from URL and time."""


class Fingerprinted(msgspec.Struct, frozen=True, gc=False):
    """A visit was made, and its payload was looked up."""

    visit: Visit
    exchange: Exchange
    digest: bytes
    """SHA-1 of the payload as received; empty when there is no response."""
    earlier: FirstCapture | None = None
    """The capture that brought the same payload first; None when none has, when the answer is not a 2xx, or when the
    document is too short to be a duplicate."""


class ContentSeen(Protocol):
    """Which capture brought a payload first. To look one up and to claim it are two steps: between them other visits
    may claim the same payload, and both may have to ask elsewhere."""

    def find(self, digest: bytes, found: Callable[[FirstCapture | None], None]) -> None:
        """Look a payload up. `found` is called once, on the event loop, now or later: with the capture that brought it
        first, or with None when it is new as far as can be told in time. Nothing is claimed by looking."""

    def claim(self, digest: bytes, capture: FirstCapture) -> FirstCapture | None:
        """Remember a payload as part of the open group. When an earlier capture is known to have it, nothing changes
        and that capture is returned. A claim that must be confirmed elsewhere returns None, and takes its time."""
