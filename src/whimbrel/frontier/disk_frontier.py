"""The frontier on disk, with the gate beside it.

A host with work waits for its turn. When it comes the host is `busy` and goes through the same questions each time: is
it qualified, has it a URL that robots.txt allows, do the paces of host, domain and address let it pass. What stops it
says where it waits: at the qualifier, in a pace's line, or for its next turn. A visit that is let out changes nothing
on disk; `finish` and `retry` do.
"""

from collections import deque
from collections.abc import Iterator
from functools import partial
from typing import Final

from whimbrel.clock import Clock
from whimbrel.flow import Needs, Provider
from whimbrel.frontier.api import Gate, HostSummary, UrlSeen
from whimbrel.frontier.crawl_time import CrawlTime
from whimbrel.frontier.entry import NEW_URL, QueueEntry, UrlRecord, new_entry, next_try, visit_of
from whimbrel.frontier.health import record_result, reset_health
from whimbrel.frontier.hold import Hold
from whimbrel.frontier.host import Host, HostTable, summary_of
from whimbrel.frontier.meta import Meta, SlotCounts, read_meta, write_meta
from whimbrel.frontier.metric import FRONTIER
from whimbrel.frontier.option import FrontierConfig
from whimbrel.frontier.order import HOST_BYTES
from whimbrel.frontier.qualifier_quota import QualifierQuota
from whimbrel.frontier.query_limit import QueryCounts
from whimbrel.frontier.queue import Queues
from whimbrel.frontier.scheduler import ROUNDED_S, HostScheduler
from whimbrel.frontier.slot_transfer import DiskSlotTransfer
from whimbrel.frontier.speed_limit import Rate
from whimbrel.observable import Observable
from whimbrel.qualify.api import HostDue, Qualification
from whimbrel.state.api import SLOT_BYTES, State
from whimbrel.url import Url
from whimbrel.url.domain import Domains
from whimbrel.url.key import Keys
from whimbrel.visit import Discovered, HostName, Visit, VisitResult

_LOST_S: Final = 1e-6
"""What may be lost between the monotonic clock and the crawl's time: they are told apart by ten digits more."""
_TRIES: Final = 100
"""Hosts that one `take` looks at. When so many are stopped, others get a turn before it goes on."""


class DiskFrontier(Provider, Observable):
    Config = FrontierConfig
    config: FrontierConfig
    live = frozenset(
        {"order", "max_pages", "max_pages_per_host", "max_bytes_per_s", "max_pages_per_s", "refuse", "max_queries"}
        | {"park_after", "park_s", "qualifying", "new_hosts"}
    )
    fixed = "visits under way and the queues belong to it"
    lasting = frozenset({"mode"})
    metrics = FRONTIER
    state = Needs(State)
    seen = Needs(UrlSeen)
    gate = Needs(Gate)
    clock = Needs(Clock)

    async def open(self) -> None:
        config, state = self.config, self.state
        found = read_meta(state)
        self._meta = found or Meta()
        self._slots = SlotCounts(state)
        self.keys = Keys(state.secret)
        self.table = HostTable(
            state,
            self.keys,
            Domains(),
            by_domain=config.mode == "broad",
            most_bytes=config.hosts_bytes,
            rules_bytes=config.rules_bytes,
        )
        self._queues = Queues(state, self.table, config.order, self._meta.order_changes)
        self._counts = QueryCounts(state, self.keys)
        self._hold = Hold(config, self.gate)
        self._time = CrawlTime(self.clock, self._meta.at_s, self._meta.mark)
        self._scheduler = HostScheduler(config, state, self.table, self.gate, self._hold, self.clock, self._time)
        self.transfer = DiskSlotTransfer(
            state, self.table, self._slots, self._scheduler, self._queues, self.gate, self._tell
        )
        self._ready: deque[Host] = deque()
        self._quota = QualifierQuota()
        self._visiting = 0
        self._requesting = 0
        """Visits in progress that send a request."""
        self.rate = Rate(config.max_pages_per_s, config.max_bytes_per_s)
        self.gate.listen(self._gate_changed)
        if found is not None:
            self.gate.mark_visited()
            self.rate.close(self.clock.now_s() + self.gate.host_delay_s(0.0, 0.0))
        self._meta.order = self._meta.order or config.order
        self.reconfigure(config)
        self._gate_changed()

    def reconfigure(self, config: FrontierConfig) -> None:
        self.config = config
        self._hold.reconfigure(config)
        self.rate.limit(config.max_pages_per_s, config.max_bytes_per_s)
        meta = self._meta
        if meta.order != config.order:
            meta.order, meta.order_changes = config.order, meta.order_changes + 1
            self._queues.arrange(config.order, meta.order_changes)
        if meta.max_pages_per_host != config.max_pages_per_host:
            meta.max_pages_per_host = config.max_pages_per_host
            self._scheduler.let_go()
        self._tell()

    def _gate_changed(self) -> None:
        """It has moved on, or blocks other hosts than before: those that it no longer does go on."""
        if self._meta.block != self.gate.blocked:
            self._meta.block = self.gate.blocked
            self._scheduler.let_go()
        self._tell()

    @property
    def empty(self) -> bool:
        return self._slots.queued == 0 and self._visiting == 0

    @property
    def queued(self) -> int:
        return self._slots.queued

    @property
    def visiting(self) -> int:
        return self._visiting

    @property
    def qualifying(self) -> int:
        return self._quota.count

    @property
    def qualifying_limit(self) -> int:
        return self.config.qualifying

    @property
    def limited(self) -> bool:
        return self.rate.holds_back(self.clock.now_s())

    @property
    def closed_for(self) -> frozenset[str]:
        return self.gate.closed_for

    @property
    def hosts(self) -> int:
        return self._slots.hosts

    @property
    def page_limit(self) -> int | None:
        return self.config.max_pages

    @property
    def pages_begun(self) -> int:
        return self._slots.taken + self._requesting

    @property
    def exhausted(self) -> bool:
        return self.page_limit is not None and self.pages_begun >= self.page_limit

    def flush(self) -> list[HostSummary]:
        stale = self.table.flush()
        self._slots.flush()
        self._meta.at_s, self._meta.mark = self._time.now_s(), self.clock.mark()
        write_meta(self.state, self._meta)
        return [summary_of(host, self._time) for host in stale]

    def loaded(self) -> Iterator[HostSummary]:
        return (summary_of(host, self._time) for host in self.table.loaded())

    def note_all(self) -> None:
        for host in self.table.loaded():
            host.noted = True
            self.table.change(host)

    def add(self, found: Discovered) -> str:
        url = found.url
        key = self.table.url_key(url)
        if not self.seen.add(key):
            return "seen"
        if not self._counts.admit(key[:SLOT_BYTES], url, self.config.max_queries):
            return "too-many-queries"
        self._queue(self.table.of(url), key, found, NEW_URL)
        return ""

    def _queue(self, host: Host, key: bytes, found: Discovered, known: UrlRecord) -> None:
        slot = key[:SLOT_BYTES]
        if not host.record.number:
            self._slots.add_host(slot)
        first = found.first or found.redirects > 0
        self._queues.push(host, found.url, key, new_entry(found), first=first, known=known)
        self._slots.add_queued(slot, 1)
        if not host.busy and (not host.record.due or host.out):
            self._scheduler.wait(host)
        self._tell()

    def find(self, url: Url) -> QueueEntry | None:
        record = self._queues.record(self.table.url_key(url))
        return None if record is None else self._queues.entry(record)

    def requeue(self, found: Discovered) -> bool:
        key = self.table.url_key(found.url)
        self.seen.add(key)
        known = self._queues.record(key) or NEW_URL
        if self._queues.entry(known) is not None:
            return False
        host = self.table.of(found.url)
        if host.record.given_up:
            self._reset(host)
        self._queue(host, key, found, known)
        return True

    def allow(self, site: str, name: str, *, without_robots: bool = False) -> bool:
        if (host := self.table.find(site, name)) is None:
            return False
        host.record.unruled = without_robots
        self._reset(host)
        self._go_on(host)
        return True

    def _reset(self, host: Host) -> None:
        reset_health(host.record)
        host.noted = True
        self.gate.forgive(host.name)
        self.table.change(host)

    def remember(self, url: Url) -> bool:
        return self.seen.add(self.table.url_key(url))

    def take(self) -> Visit | None:
        now_s = self.clock.now_s()
        if self.exhausted or now_s < self.rate.free_s or self.gate.closed_for:
            return None
        for woken in self._queues.wake(now_s + self._time.ahead_s + _LOST_S):
            if not woken.busy:
                self._scheduler.wait(woken)
        for _ in range(_TRIES):
            host = self._next(now_s)
            if host is None:
                return None
            visit = self._try(host, now_s)
            if visit is not None:
                return visit
        return None

    def take_host(self) -> HostDue | None:
        due = None if self.gate.closed_for else self._quota.take()
        return None if due is None else self._time.in_wall_time(due)

    def _next(self, now_s: float) -> Host | None:
        """A host whose turn it is. Those who come from a line are before all others."""
        if not self._ready:
            self.gate.wake(now_s)
        if self._ready:
            return self._ready.popleft()
        return self._scheduler.next(now_s, asking=self._quota.has_room(self.config, now_s))

    def _try(self, host: Host, now_s: float) -> Visit | None:
        """Its next visit; None when something stops it, which then knows where the host waits."""
        scheduler, found = self._scheduler, host.record.qualification
        turn = scheduler.turn(host, now_s)
        if turn == "visit" and found is not None:
            return self._visit(host, found, now_s)
        if turn == "refuse":
            return self._refuse(host, host.record.given_up)
        if turn == "qualify" and self._may_ask(host, now_s):
            self._quota.ask(host, now_s + self._time.ahead_s, now_s)
            self._tell()
        else:
            scheduler.wait(host)
        return None

    def _may_ask(self, host: Host, now_s: float) -> bool:
        return self._scheduler.due_s(host) <= now_s + ROUNDED_S and self._quota.has_room(self.config, now_s)

    def _visit(self, host: Host, found: Qualification, now_s: float) -> Visit | None:
        peeked = self._queues.peek(host)
        if peeked is None:
            self._scheduler.wait(host)
            return None
        key, entry = peeked
        if host.record.ruled and not self.table.rules(host, self.config.agent).allows(entry.url):
            return self._refuse(host, "robots")
        if self._hold.refuses(entry.url):
            return self._refuse(host, "blocked")
        address = found.addresses[host.record.failures_in_row % len(found.addresses)]
        pace = self.gate.try_enter(host.name, address, found.crawl_delay_s, now_s)
        if pace is not None:
            again_s = self.gate.wait_in_line(pace, partial(self._called, host), now_s)
            if again_s is not None:
                self._scheduler.postpone(host, again_s)
            return None
        self._queues.pop(host)
        self._visiting += 1
        self._requesting += 1
        self.rate.let_out(now_s)
        return visit_of(key, entry, address)

    def _called(self, host: Host) -> bool:
        self._ready.append(host)
        return True

    def _refuse(self, host: Host, reason: str) -> Visit | None:
        """The next entry's visit is over before it began; the host goes on with the one after it."""
        peeked = self._queues.peek(host)
        if peeked is None:
            self._scheduler.wait(host)
            return None
        key, entry = peeked
        self._queues.pop(host)
        self._visiting += 1
        self._ready.appendleft(host)
        return visit_of(key, entry, "", reason)

    def qualified(self, name: HostName, found: Qualification) -> None:
        host = self._returned(name)
        self.table.qualify(host, self._time.in_own_time(found), self.gate.cut_note(found.crawl_delay_s))
        self._scheduler.wait(host)
        self._tell()

    def refreshed(self, name: HostName, found: Qualification) -> None:
        host = self._returned(name)
        self.table.refresh(host, self._time.in_own_time(found))
        self._scheduler.wait(host)
        self._tell()

    def unqualified(self, name: HostName) -> None:
        self._scheduler.wait(self._returned(name))
        self._tell()

    def _returned(self, name: HostName) -> Host:
        host = self.table.get(self.table.id_of(name.site, name.host))
        self._quota.remove(host.id)
        return host

    def due_in_s(self) -> float | None:
        if self.exhausted or not self._slots.queued:
            return None
        now_s = self.clock.now_s()
        if now_s < self.rate.free_s:
            return self.rate.free_s - now_s
        if self._ready:
            return 0.0
        retry_s = self._queues.retry_s
        times = (
            None if retry_s is None else retry_s - self._time.ahead_s,
            self._scheduler.next_s(asking=self._quota.has_room(self.config, now_s)),
            self._quota.next_s(self.config),
            self.gate.next_s(),
        )
        next_s = min((time_s for time_s in times if time_s is not None), default=None)
        return None if next_s is None else max(0.0, next_s - now_s)

    def retry_in_s(self) -> float | None:
        retry_s = self._queues.retry_s
        return None if retry_s is None else max(0.0, retry_s - self._time.ahead_s - self.clock.now_s())

    def finish(self, visit: Visit, ending: VisitResult) -> None:
        host = self._back(visit)
        self._queues.remove(host, visit.token)
        self._slots.add_queued(host.id[:SLOT_BYTES], -1)
        self._end(host, visit, ending)

    def retry(self, visit: Visit, ending: VisitResult, after_s: float) -> None:
        host = self._back(visit)
        self._queues.postpone(host, visit.token, next_try(visit), self._time.now_s() + after_s)
        self._end(host, visit, ending)

    def abandon(self, visit: Visit) -> None:
        host = self._back(visit)
        self._queues.put_back(host, visit.token)
        if visit.address:
            self._scheduler.leave(host, visit.address, VisitResult())
        self._go_on(host)

    def _back(self, visit: Visit) -> Host:
        """A visit is under way no longer."""
        self._visiting -= 1
        if visit.address:
            self._requesting -= 1
        return self.table.get(visit.token[:HOST_BYTES])

    def _end(self, host: Host, visit: Visit, ending: VisitResult) -> None:
        """A visit was made: the paces begin their delays, its result counts for the host's health, and the host waits
        for its next turn."""
        if visit.address:
            self._slots.add_taken(host.id[:SLOT_BYTES])
            host.record.taken += 1
            self._scheduler.leave(host, visit.address, ending)
            rest_s = record_result(host.record, ending, self.config.park_after, self.config.park_s)
            if rest_s:
                self._scheduler.rest(host, rest_s)
            self.rate.received(ending.bytes, self.clock.now_s())
        self._go_on(host)

    def _go_on(self, host: Host) -> None:
        if not host.busy:
            self._scheduler.wait(host)
        self._tell()
