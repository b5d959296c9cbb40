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

_VISIT_BYTES: Final = 2_000
_HEADER_BYTES: Final = 200
_ROW_BYTES: Final = 600
"""What each of these takes besides its texts: objects, places in lists, and columns of rows."""


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
        """What it holds until it is durable: the answer, and what was derived from that. A body on disk counts, too:
        the commit has to read it."""
        size, page = _VISIT_BYTES, self.page
        response = None if self.exchange is None else self.exchange.response
        if response is not None:
            size += response.document.size + 2 * len(response.head) + _HEADER_BYTES * len(response.headers)
        if len(self.captures) > 1:
            size += payload_bytes(self.captures[1:])
        if page is not None:
            size += page.held_bytes
        return size if self.handled is None else size + self.handled.bytes


class Work:
    """Filled on the event loop's thread, then sealed and handed to the committer; never changed after that. `bytes` is
    what all of it takes, about."""

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

    def add_visit(self, settled: SettledVisit) -> None:
        self.visits.append(settled)
        self.bytes += settled.held_bytes

    def add_capture(self, capture: Capture) -> None:
        self.captures.append(capture)
        self.bytes += _ROW_BYTES + payload_bytes((capture,))

    def add_handled(self, url: str, capture_id: int, at_s: float, handled: Handled) -> None:
        self.handled.append((url, capture_id, at_s, handled))
        self.bytes += _ROW_BYTES + len(url) + handled.bytes

    def add_dropped(self, url: Url, reason: str, source: str, at_s: float) -> None:
        self.dropped.append((url, reason, source, at_s))
        # The URL has its path as a text of its own. Its row has a copy of the page that it was found on.
        self.bytes += _ROW_BYTES + 2 * len(url.text) + len(source)

    def add_requeued(self, url: Url, source: str, at_s: float) -> None:
        self.requeued.append((url, source, at_s))
        self.bytes += _ROW_BYTES + 2 * len(url.text) + len(source)

    def add_host(self, row: HostRow) -> None:
        self.hosts.append(row)
        self.bytes += _ROW_BYTES + len(row.site) + len(row.last_error)

    def add_event(self, row: EventRow) -> None:
        self.events.append(row)
        self.bytes += _ROW_BYTES + len(row.subject) + len(row.detail)

    def __bool__(self) -> bool:
        return any((self.visits, self.captures, self.dropped, self.requeued, self.hosts, self.events, self.handled))


def payload_bytes(captures: Iterable[Capture]) -> int:
    return sum(0 if isinstance(capture, RevisitCapture) else capture.payload.size for capture in captures)
