"""What one group holds besides the state's changes."""

from collections.abc import Iterable
from typing import Final

import msgspec

from whimbrel.archive.api import Capture, RevisitCapture
from whimbrel.dedupe.api import FirstCapture
from whimbrel.facts.row import EventRow, HostRow
from whimbrel.fetch.api import Exchange
from whimbrel.outcome import Outcome
from whimbrel.parse.api import Handled, ParsedPage
from whimbrel.url import Url
from whimbrel.visit import Visit

_LINK_BYTES: Final = 300
"""What a link of a page costs in memory, about."""


class SettledVisit(msgspec.Struct, frozen=True, gc=False):
    """A visit that is over: what the archive keeps of it, and what the tables need to know."""

    visit: Visit
    outcome: Outcome
    reason: str
    at_s: float
    """Wall clock, when it began."""
    exchange: Exchange | None = None
    """None when no request was made."""
    page: ParsedPage | None = None
    """None when there was no document to read."""
    digest: bytes = b""
    """SHA-1 of the payload as received; empty when there is none."""
    earlier: FirstCapture | None = None
    """The capture that brought the same payload before."""
    redirect_to: str = ""
    handled: Handled | None = None
    """What handlers made of the page; None when none looked at it."""
    captures: tuple[Capture, ...] = ()
    """Empty when nothing of it goes to the archive. The first is the answer; what was derived from it follows."""
    retry_at_s: float = 0.0
    """When it is made again; 0 when it is not."""
    via: str = "fetch"
    """How the answer came to us: `fetch`, `import`, `outpost` or `rebuilt`."""

    @property
    def held_bytes(self) -> int:
        """What it holds until it is durable: the body, and what was derived from that, text and links included."""
        response = None if self.exchange is None else self.exchange.response
        size = 0 if response is None else response.document.size
        if len(self.captures) > 1:
            size += payload_bytes(self.captures[1:])
        page = self.page
        return size if page is None else size + len(page.text) + _LINK_BYTES * len(page.links)


class Work:
    """Filled on the event loop's thread, then sealed and handed to the committer; never changed after that."""

    __slots__ = ("bytes", "captures", "dropped", "events", "handled", "hosts", "requeued", "tables", "visits")

    def __init__(self) -> None:
        self.visits: list[SettledVisit] = []
        self.captures: list[Capture] = []
        """Those that belong to no visit: an import finds conversions and metadata."""
        self.dropped: list[tuple[Url, str, str, float]] = []
        """URL, reason, the URL it was found on, and when."""
        self.requeued: list[tuple[Url, str, float]] = []
        """URLs with a final outcome that are to be visited once more, the URL each was found on, and when."""
        self.hosts: list[HostRow] = []
        self.events: list[EventRow] = []
        self.handled: list[tuple[str, int, float, Handled]] = []
        """Pages of the archive that handlers looked at again, the id of the capture, and when."""
        self.tables: dict[str, tuple[tuple[str, str], ...]] = {}
        """Tables of the user's that there are from now on, rows or not."""
        self.bytes = 0

    def __bool__(self) -> bool:
        return any((self.visits, self.captures, self.dropped, self.requeued, self.hosts, self.events, self.handled))


def payload_bytes(captures: Iterable[Capture]) -> int:
    return sum(0 if isinstance(capture, RevisitCapture) else capture.payload.size for capture in captures)
