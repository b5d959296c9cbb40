"""The frontier's contracts."""

from collections.abc import Callable
from typing import Protocol

from whimbrel.visit import Discovered, HostName, Visit, VisitResult

__all__ = ["Discovered", "Frontier", "HostName", "UrlSeen", "Visit", "VisitResult"]


class UrlSeen(Protocol):
    """Remembers every URL that was ever admitted, by its key of 128 bits."""

    def add(self, key: bytes) -> bool:
        """Remember a key as part of the open group; true when it was not known before. Exact providers never err;
        others may say that a new key is known, never that a known one is new."""


class Frontier(Protocol):
    """Owns every URL between its discovery and the commit that carries its outcome.

    All changes become part of the state's open group; a visit that is let out stays on disk until `finish`.
    """

    def add(self, found: Discovered) -> str:
        """Queue a URL that was not seen before. Returns "" when it was queued, `seen` when it was known, and the
        reason of its `dropped` outcome when a limit on first comers cut it. A redirect's target goes to the head of
        the queue."""

    def drop(self, text: str) -> bool:
        """Remember a URL that a limit has cut; true when it was not known before."""

    def take(self) -> Visit | None:
        """The next visit that may be made now; None when none may."""

    def due_in_s(self) -> float | None:
        """Seconds until `take` may give another answer, if nothing else changes; None when that is not a matter of
        time."""

    def finish(self, visit: Visit, ending: VisitResult) -> None:
        """The visit has its final outcome: forget the entry."""

    def retry(self, visit: Visit, ending: VisitResult, after_s: float) -> None:
        """The visit is to be made again, in so many seconds at the earliest."""

    @property
    def empty(self) -> bool:
        """Nothing is queued, nothing waits to be tried again, and no visit is under way."""

    @property
    def queued(self) -> int:
        """URLs without a final outcome, those under way and those to be tried again included."""

    @property
    def visiting(self) -> int: ...

    def listen(self, changed: Callable[[], None]) -> None:
        """Call back whenever `take` may give another answer than before."""
