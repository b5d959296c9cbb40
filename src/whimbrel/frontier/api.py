"""The frontier's contracts."""

from collections.abc import Callable, Iterator
from typing import Protocol

import msgspec

from whimbrel.frontier.entry import QueueEntry
from whimbrel.qualify.api import HostDue, Qualification
from whimbrel.state.slot import SlotChunk
from whimbrel.url import Url
from whimbrel.visit import Discovered, HostName, Visit, VisitResult

__all__ = ["Discovered", "Frontier", "HostName", "HostSummary", "QueueEntry", "UrlSeen", "Visit", "VisitResult"]


class UrlSeen(Protocol):
    """Remembers every URL that was ever admitted, by its key: the slot, and 128 bits of a hash."""

    def add(self, key: bytes) -> bool:
        """Remember a key as part of the open group; true when it was not known before. Exact providers never err;
        others may say that a new key is known, never that a known one is new."""


class HostSummary(msgspec.Struct, frozen=True, gc=False):
    """How a host stands: a row of the table of hosts."""

    name: HostName
    address: str
    """Empty before it is qualified."""
    standing: str
    """`new`, `qualified`, `disqualified`, `for-good`, `parked` or `given-up`."""
    until_s: float | None
    robots_at_s: float | None
    robots_status: int
    failures: int
    """Of the qualifier, in a row."""
    crawl_delay_s: float
    queued: int
    fetched: int
    failed: int
    last_error: str


class SlotTransfer(Protocol):
    """Slots that leave a frontier or come to it. Chunks and deletions go to the open group, so that what is in memory
    is bounded by the commits in between."""

    def slots(self) -> list[int]:
        """Those of which there is anything."""

    def export(self, slot: int) -> Iterator[bytes]:
        """A slot in chunks. None of its hosts may be busy, and nothing may be added to it meanwhile."""

    def take_in(self, data: bytes) -> SlotChunk:
        """A chunk of a slot that comes here; once more changes nothing. Until the last one the slot is not used, also
        after a restart; with it the slot's hosts begin to be visited, and all of them count as just visited. Raises
        SlotDamaged, and nothing has changed."""

    def delete(self, slot: int, most: int) -> int:
        """Delete about so many keys of a slot; returns how many, 0 when nothing is left. None of its hosts may be busy.
        After a restart on the way nothing of the slot is visited."""


class Frontier(Protocol):
    """Owns every URL between its discovery and the commit that carries its outcome.

    All changes become part of the state's open group; a visit that is let out stays on disk until `finish`. Every visit
    that `take` gives comes back by `finish`, `retry` or `abandon`, and every host that `take_host` gives by `qualified`
    or `unqualified`. Called from the event loop's thread; nothing waits.
    """

    def add(self, found: Discovered) -> str:
        """Queue a URL that was not seen before. Returns "" when it was queued, `seen` when it was known, and the
        reason of its `dropped` outcome when a limit on first comers cut it. A redirect's target goes to the head of
        the queue."""

    def remember(self, url: Url) -> bool:
        """Remember a URL that is not to be queued, since a limit has cut it or its capture came from elsewhere; true
        when it was not known before."""

    def find(self, url: Url) -> QueueEntry | None:
        """The entry of a URL that has no final outcome yet, also when it is under way or waits to be tried again; None
        when there is none."""

    def requeue(self, found: Discovered) -> bool:
        """Visit a URL once more that had its final outcome; its host gets another chance, too. False, and nothing
        changes, when it is queued already."""

    def allow(self, site: str, name: str, *, without_robots: bool = False) -> bool:
        """Ask a host that is disqualified, parked or given up again; false when it is not known. `without_robots`: a
        robots.txt that cannot be obtained counts as no rules from now on."""

    def take(self) -> Visit | None:
        """The next visit that may be made now; None when none may. One without an address is over before it began, for
        its `refusal`."""

    def take_host(self) -> HostDue | None:
        """The next host that is to be qualified now; None when none is."""

    def qualified(self, name: HostName, found: Qualification) -> None:
        """The qualifier's answer for a host."""

    def unqualified(self, name: HostName) -> None:
        """The qualifier could not find anything out, because the host is blocked by now."""

    def finish(self, visit: Visit, ending: VisitResult) -> None:
        """The visit has its final outcome: forget the entry."""

    def retry(self, visit: Visit, ending: VisitResult, after_s: float) -> None:
        """The visit is to be made again, in so many seconds at the earliest."""

    def abandon(self, visit: Visit) -> None:
        """The visit did not happen: its entry waits at the head of its queue as before, no try is counted, and the
        host's health does not change. The gate is left as after a visit, because a request may have been sent."""

    def flush(self) -> list[HostSummary]:
        """Before a group is sealed: what is kept in memory goes to it. Returns the hosts whose rows in the table of
        hosts are out of date."""

    def note_all(self) -> None:
        """The next `flush` returns every host in memory."""

    def loaded(self) -> Iterator[HostSummary]:
        """Every host in memory, which all are that had something to do lately."""

    @property
    def transfer(self) -> SlotTransfer:
        """Slots that leave this frontier or come to it."""

    def due_in_s(self) -> float | None:
        """Seconds until `take` may give another answer, if nothing else changes; 0 when it may now; None when that is
        not a matter of time."""

    @property
    def empty(self) -> bool:
        """Nothing is queued, nothing waits to be tried again, and no visit is under way."""

    @property
    def queued(self) -> int:
        """URLs without a final outcome, those under way and those to be tried again included."""

    @property
    def visiting(self) -> int:
        """Visits that are under way."""

    @property
    def qualifying(self) -> int:
        """Hosts that the qualifier has, or is to have next."""

    @property
    def qualifying_limit(self) -> int:
        """How many it may have at once."""

    @property
    def hosts(self) -> int:
        """Hosts known so far."""

    @property
    def page_limit(self) -> int | None:
        """Requests for pages that may be made in all; None when there is no limit."""

    @property
    def exhausted(self) -> bool:
        """The limit on pages has been reached."""

    @property
    def limited(self) -> bool:
        """A limit on pages or bytes per second holds visits back, or did a moment ago."""

    @property
    def paused(self) -> bool:
        """The gate lets nothing out."""

    def shut(self) -> None:
        """Nothing more is to be begun: the qualifier's hosts stay as they are."""

    def listen(self, changed: Callable[[], None]) -> None:
        """Call back whenever `take` may give another answer than before."""
