"""What one group holds besides the state's changes."""

from typing import Any

import msgspec

from whimbrel.archive.api import Capture
from whimbrel.parse.api import Handled, Parsed


class Kept(msgspec.Struct, gc=False):
    """A visit that is over, with what the tables need to know of it."""

    parsed: Parsed
    capture: Capture | None
    """None when nothing of it goes to the archive."""
    retry_at_s: float = 0.0


class Work:
    """Filled on the event loop's thread, then sealed and handed to the committer; never changed after that."""

    __slots__ = ("bytes", "dropped", "events", "handled", "hosts", "kept", "requeued", "tables")

    def __init__(self) -> None:
        self.kept: list[Kept] = []
        self.dropped: list[tuple[str, str, str, float]] = []
        """URL, reason, the URL it was found on, and when."""
        self.requeued: list[tuple[str, str, float]] = []
        """URLs with a final outcome that are to be visited once more, the URL each was found on, and when."""
        self.hosts: list[tuple[Any, ...]] = []
        self.events: list[tuple[Any, ...]] = []
        self.handled: list[tuple[str, float, Handled]] = []
        """Pages of the archive that handlers looked at again, and when."""
        self.tables: dict[str, tuple[tuple[str, str], ...]] = {}
        """Tables of the user's that there are from now on, rows or not."""
        self.bytes = 0

    def __bool__(self) -> bool:
        return bool(self.kept or self.dropped or self.requeued or self.hosts or self.events or self.handled)
