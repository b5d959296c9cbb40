"""The frontier's contracts and messages."""

from collections.abc import Callable
from typing import Protocol

import msgspec

from whimbrel.url import Url


class Discovered(msgspec.Struct, frozen=True, gc=False):
    """A link was found. `redirects` counts the redirects in a row that led here; 0 for a link in a document."""

    url: Url
    depth: int
    source: str = ""
    """The URL it was found on; empty for a seed."""
    redirects: int = 0


class Visit(msgspec.Struct, frozen=True, gc=False):
    """A URL that the gate has let out."""

    url: Url
    depth: int
    source: str = ""
    redirects: int = 0


class UrlSeen(Protocol):
    def add(self, url: Url) -> bool:
        """Remember a URL; true when it was not known before."""


class Frontier(Protocol):
    """Owns every URL between its discovery and the end of its visit."""

    def add(self, found: Discovered) -> None:
        """Queue a URL that has not been seen before. A redirect's target goes to the head of its host's queue."""

    def take(self, now_s: float) -> Visit | None:
        """The next visit that may be made now; None when none may."""

    def due_s(self) -> float | None:
        """When the next visit may be made, if nothing else changes; None when that does not depend on time."""

    def finish(self, visit: Visit, now_s: float) -> None:
        """The visit has been made and its outcome recorded: forget the entry, start the host's delay."""

    @property
    def empty(self) -> bool:
        """Nothing is queued and no visit is under way."""

    @property
    def queued(self) -> int: ...

    @property
    def visiting(self) -> int: ...

    def listen(self, changed: Callable[[], None]) -> None:
        """Call back whenever `take` may give another answer than before."""
