"""The frontier's contracts."""

from collections.abc import Callable, Iterator
from typing import Final, Literal, NamedTuple, Protocol

import msgspec

from whimbrel.frontier.entry import QueueEntry
from whimbrel.frontier.pace import Pace
from whimbrel.qualify.api import HostDue, Qualification, RequestGate
from whimbrel.shortage import Shortage
from whimbrel.state.slot import SlotChunk
from whimbrel.url import Url
from whimbrel.visit import Discovered, HostName, Visit, VisitResult

__all__ = [
    "OPERATOR",
    "CommitStatus",
    "Discovered",
    "Frontier",
    "Gate",
    "HostName",
    "HostSummary",
    "Permit",
    "Permits",
    "QueueEntry",
    "Termination",
    "UrlSeen",
    "Visit",
    "VisitResult",
]

OPERATOR: Final = "operator"
"""The gate is closed because the crawl was paused by its operator. The other reasons are resources that this machine
lacks (`shortage.py`)."""


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
        """A chunk of a slot that comes here; once more changes nothing. Until the last one the slot is not used and not
        counted, also after a restart, which wants the first one again; with it the slot's hosts begin to be visited,
        and all of them count as just visited. None of its hosts may be busy. Raises SlotDamaged, also when a chunk was
        left out or is of a crawl with another secret, and nothing has changed."""

    def delete(self, slot: int, most: int) -> int:
        """Delete about so many keys of a slot; returns how many, 0 when nothing is left. None of its hosts may be busy.
        Once its hosts are gone, which are first, nothing of the slot is visited or counted, also after a restart."""


class Frontier(Protocol):
    """Owns every URL between its discovery and the commit that carries its outcome.

    All changes become part of the state's open group; a visit that is let out stays on disk until `finish`. Every visit
    that `take` gives comes back by `finish`, `retry` or `abandon`, and every host that `take_host` gives by
    `qualified`, `refreshed` or `unqualified`. Called from the event loop's thread; nothing waits.
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

    def refreshed(self, name: HostName, found: Qualification) -> None:
        """The qualifier's answer for a host of which only the addresses were asked for. The text of robots.txt is not
        in it, and stays what it was."""

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

    def retry_in_s(self) -> float | None:
        """Seconds until the next URL that failed is to be tried again; None when none is."""

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
    def pages_begun(self) -> int:
        """How many of them were begun, those under way included."""

    @property
    def exhausted(self) -> bool:
        """The limit on pages has been reached."""

    @property
    def limited(self) -> bool:
        """A limit on pages or bytes per second holds visits back, or did a moment ago."""

    @property
    def closed_for(self) -> frozenset[str]:
        """Why the gate lets nothing out; empty when it does."""

    def listen(self, changed: Callable[[], None]) -> None:
        """Call back whenever `take` may give another answer than before."""

    def unlisten(self, changed: Callable[[], None]) -> None:
        """End one `listen`."""


class Gate(RequestGate, Protocol):
    """When a host, its registered domain and its address may be visited. Nothing fetches around it.

    A visit enters by `try_enter` and leaves by `left`; a request that is no visit by `enter` and `leave`. Between the
    two the transport says when the request is `sent` and when its answer has `landed`. Times are those of the
    monotonic clock.
    """

    @property
    def closed_for(self) -> frozenset[str]:
        """Why no request at all may be begun now; empty when the gate is open. All clocks go on meanwhile."""

    @property
    def paused(self) -> bool:
        """It is closed for its operator."""

    def close_for(self, reason: str) -> None:
        """Begin no request until this reason, and every other one, is gone; requests under way end. Closing twice for
        one reason is closing once."""

    def reopen_for(self, reason: str) -> None:
        """A reason is gone. One for which the gate is not closed changes nothing."""

    def shut(self) -> None:
        """The crawl is being stopped: requests that wait to enter, and those that come, are sent away (GateShut)."""

    def admit(self) -> None:
        """The opposite of `shut`, and how a gate begins."""

    @property
    def blocked(self) -> tuple[str, ...]:
        """The hosts, domains and sites to which no request is made (`url/block_list.py`)."""

    def blocks(self, host: HostName) -> bool:
        """Whether no request may be made to a site: it, its host or a domain above that is blocked."""

    def mark_visited(self, slot: int | None = None) -> None:
        """Every host of a slot, and every domain and address that is met through one, counts as visited at this
        moment: the slot was another process's until now. None means all slots: after a restart nobody knows what was
        under way."""

    def host_delay_s(
        self, elapsed_s: float, crawl_delay_s: float, *, qualifying: bool = False, host: HostName | None = None
    ) -> float:
        """How long a host is left alone after an answer that took `elapsed_s`. `qualifying`: the request was for
        robots.txt. The Crawl-delay is the one that robots.txt asks for: how much is honoured is decided here."""

    def cut_note(self, crawl_delay_s: float) -> str:
        """For people: that a Crawl-delay is longer than is honoured; empty when it is not."""

    def try_enter(self, host: HostName, address: str, crawl_delay_s: float, now_s: float) -> Pace | None:
        """Enter if the gate, the three paces and the permits are open: None. Otherwise the first that is closed."""

    def wait_in_line(self, pace: Pace, called: Callable[[], bool], now_s: float) -> float | None:
        """Wait for a pace that `try_enter` found closed: `called` is called by `wake` when it has room, and returns
        true while its host has yet to enter. Or come again at the time that is returned."""

    def wake(self, now_s: float) -> None:
        """Call waiters of paces that are open now, as many as there is room for. Call it again when they have had
        their chance: if they did not enter, the next in the line are called."""

    def next_s(self) -> float | None:
        """When `wake` has something to do next; None when that is not a matter of time."""

    def left(
        self,
        host: HostName,
        address: str,
        elapsed_s: float,
        crawl_delay_s: float = 0.0,
        *,
        status: int = 0,
        retry_after_s: float = 0.0,
    ) -> None:
        """A visit is over, after `elapsed_s`; the host's next may start after its delay (`host_delay_s`). Status 0 is
        no answer; `retry_after_s` is what the server asked us to wait, 0 when it did not."""

    def rest_until(self, host: HostName, until_s: float) -> None:
        """The host asked for a longer rest (Retry-After), or is parked."""

    def forgive(self, host: HostName) -> None:
        """A rest that was held for a host ends; the delay after its last visit does not."""

    def free_s(self, host: HostName, crawl_delay_s: float) -> float:
        """When the host itself may be visited next, whatever its domain and address say."""

    def listen(self, changed: Callable[[], None]) -> None:
        """Call back when `try_enter` may give another answer for reasons that the frontier does not know: the gate was
        reopened, reconfigured, left by a request that was no visit, or got a permit."""

    def unlisten(self, changed: Callable[[], None]) -> None:
        """End one `listen`."""


class Permit(NamedTuple):
    """The use of something that hosts of several processes share."""

    kind: Literal["domain", "address"]
    name: str
    """A registered domain, or an address as paces count it: IPv6 by its first 64 bits."""


class Permits(Protocol):
    """Whether this process may use a domain or an address now, where other processes reach them too.

    The gate asks when its own clocks are open: for the domain, then for the address. If the address is refused it
    releases the domain at once and waits, so that no two processes hold what the other waits for. Every permit that
    was granted is released once, when its request is over. A permit that is released without having been acquired
    (the provider was exchanged meanwhile) is ignored.
    """

    @property
    def unlimited(self) -> bool:
        """Everything is granted always: nobody needs to ask. It never changes."""

    def acquire(self, permit: Permit, again: Callable[[], None]) -> float | None:
        """None: granted. Otherwise the time, not in the past and never infinite, at which to ask again. It does not
        wait for anything: where the answer is not known it refuses, and calls `again` on the event loop, later, when
        it is worth asking before that time."""

    def release(self, permit: Permit, ended_s: float | None) -> None:
        """The request for which it was acquired ended at this time; None when it was never made."""


class CommitStatus(Protocol):
    """Whether results become durable."""

    @property
    def behind(self) -> bool:
        """Nothing more may be let out before the last commit is done."""

    @property
    def shortage(self) -> Shortage | None:
        """What this machine lacks, so that no request may begin; None when all is well."""

    def listen(self, changed: Callable[[], None]) -> None:
        """Call back when a commit is done, or when a shortage begins or ends."""

    def unlisten(self, changed: Callable[[], None]) -> None:
        """End one `listen`."""


class Termination(Protocol):
    """Decides when a crawl is over."""

    def is_over(self) -> bool:
        """Whether nothing is under way and nothing will come that is worth waiting for. Asked whenever the frontier
        has nothing to let out; once it is true the traversal ends. It does not wait for anything."""

    def listen(self, changed: Callable[[], None]) -> None:
        """Call back when the answer may have changed though neither frontier nor journal has."""

    def unlisten(self, changed: Callable[[], None]) -> None:
        """End one `listen`."""
