"""The frontier on disk, with the gate beside it.

A host with work waits for its turn. When it comes the host is `busy` and goes through the same questions each time: is
it qualified, has it a URL that robots.txt allows, do the paces of host, domain and address let it pass. What stops it
says where it waits: at the qualifier, in a pace's line, or for its next turn. A visit that is let out changes nothing
on disk; `finish` and `retry` do.
"""

from collections import deque
from functools import partial
from typing import Final

import msgspec

from whimbrel.clock import Clock
from whimbrel.flow import Needs, Provider
from whimbrel.frontier.api import UrlSeen
from whimbrel.frontier.asked import Asked
from whimbrel.frontier.count import QueryCounts
from whimbrel.frontier.gate import Gate
from whimbrel.frontier.health import forgiven, judged
from whimbrel.frontier.host import Host, HostTable, entry_request, new_entry, next_try
from whimbrel.frontier.meta import Meta, kept_secret
from whimbrel.frontier.metric import FRONTIER
from whimbrel.frontier.option import FrontierConfig
from whimbrel.frontier.queue import Queues
from whimbrel.frontier.rate import Rate
from whimbrel.frontier.turn import ROUNDED_S, Turns, is_over
from whimbrel.observable import Observable
from whimbrel.outcome import asks_to_slow_down
from whimbrel.qualify.api import HostDue, Qualification
from whimbrel.qualify.robots import RobotsRules
from whimbrel.state.api import State
from whimbrel.url.domain import Domains
from whimbrel.url.glob import Globs
from whimbrel.url.key import Keys
from whimbrel.visit import Discovered, HostName, Visit, VisitResult

_META: Final = b"frontier"
_LOST_S: Final = 1e-6
"""What may be lost between the monotonic clock and the wall's: they are told apart by ten digits more."""
_TRIES: Final = 100
"""Hosts that one `take` looks at. When so many are stopped, others get a turn before it goes on."""
_UNRULED_S: Final = 86_400.0
"""For how long a host is qualified by the user's word."""


class DiskFrontier(Provider, Observable):
    Config = FrontierConfig
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
        config: FrontierConfig = self.config
        state = self.state
        found = state.get("meta", _META)
        self._meta = Meta() if found is None else msgspec.msgpack.decode(found, type=Meta)
        self.keys = Keys(kept_secret(state))
        self.table = HostTable(state, self.keys, Domains(), by_domain=config.mode == "broad", most=config.hosts_cached)
        self._queues = Queues(state, self.table, config.order, self._meta.number, self._meta.order_changes)
        self._counts = QueryCounts(state, self.keys)
        self._turns = Turns(config, state, self.table, self.gate, self.clock)
        self._ready: deque[Host] = deque()
        self._due: deque[HostDue] = deque()
        self._asked = Asked()
        self._visiting = 0
        self._requesting = 0
        """Of these, those that are more than a refusal."""
        self.rate = Rate(config.max_pages_per_s, config.max_bytes_per_s)
        self.gate.listen(self._gate_changed)
        if found is not None:
            self.gate.just_visited()
            self.rate.close(self.clock.now_s() + self.gate.host_delay_s(0.0, 0.0))
        self._meta.order = self._meta.order or config.order
        self.reconfigure(config)
        self._gate_changed()

    def reconfigure(self, config: FrontierConfig) -> None:
        self.config = config
        self._turns.reconfigure(config)
        self._refused = Globs(config.refuse) if config.refuse else None
        self.rate.limit(config.max_pages_per_s, config.max_bytes_per_s)
        meta = self._meta
        if meta.order != config.order:
            meta.order, meta.order_changes = config.order, meta.order_changes + 1
            self._queues.arrange(config.order, meta.order_changes)
        if meta.max_pages_per_host != config.max_pages_per_host:
            meta.max_pages_per_host = config.max_pages_per_host
            self._turns.let_go()
        self._tell()

    def _gate_changed(self) -> None:
        """It has moved on, or blocks other hosts than before: those that it no longer does go on."""
        if self._meta.block != self.gate.config.block:
            self._meta.block = self.gate.config.block
            self._turns.let_go()
        self._tell()

    @property
    def empty(self) -> bool:
        return self._meta.queued == 0 and self._visiting == 0

    @property
    def queued(self) -> int:
        return self._meta.queued

    @property
    def visiting(self) -> int:
        return self._visiting

    @property
    def qualifying(self) -> int:
        return self._asked.count

    @property
    def paused(self) -> bool:
        return self.gate.paused

    @property
    def hosts(self) -> int:
        return self._meta.hosts

    @property
    def exhausted(self) -> bool:
        """The limit on pages has been reached."""
        limit: int | None = self.config.max_pages
        return limit is not None and self._meta.taken + self._requesting >= limit

    def flush(self) -> list[Host]:
        """Before a group is sealed: what is kept in memory goes to it. Returns the hosts that changed."""
        changed = self.table.flush()
        self._meta.number = self._queues.number
        self.state.put("meta", _META, msgspec.msgpack.encode(self._meta))
        return changed

    def note_all(self) -> None:
        """Have the table of hosts say how every host in memory stands now."""
        for host in self.table.loaded():
            host.noted = True
            self.table.change(host)

    def add(self, found: Discovered) -> str:
        url = found.url
        if not self.seen.add(self.keys.url(url.text)):
            return "seen"
        if not self._counts.admit(url, self.config.max_queries):
            return "too-many-queries"
        host = self.table.of(url)
        if not host.record.queued and not host.record.taken and host.record.qualification is None:
            self._meta.hosts += 1
        self._queue(host, found, first=found.first or found.redirects > 0)
        return ""

    def _queue(self, host: Host, found: Discovered, *, first: bool) -> None:
        entry = new_entry(found)
        self._queues.push(host, found.url, entry, first=first)
        self._meta.queued += 1
        if not host.busy and (not host.record.due or host.out):
            self._turns.wait(host)
        self._tell()

    def requeue(self, found: Discovered) -> None:
        """Visit a URL once more that had its final outcome, and is not queued again already. Its host gets another
        chance, too."""
        host = self.table.of(found.url)
        if host.record.given_up:
            self._forgive(host)
        self._queue(host, found, first=False)

    def allow(self, site: str, name: str, *, without_robots: bool = False) -> bool:
        """Ask a host that is disqualified, parked or given up again; false when it is not known. `without_robots`: a
        robots.txt that cannot be obtained counts as no rules from now on."""
        if (host := self.table.find(site, name)) is None:
            return False
        host.record.unruled = without_robots
        self._forgive(host)
        if not host.busy:
            self._turns.wait(host)
        self._tell()
        return True

    def _forgive(self, host: Host) -> None:
        forgiven(host.record)
        host.noted = True
        self.gate.forgive(host.name)
        self.table.change(host)

    def drop(self, text: str) -> bool:
        return self.seen.add(self.keys.url(text))

    def take(self) -> Visit | None:
        now_s = self.clock.now_s()
        if self.exhausted or now_s < self.rate.free_s or self.gate.paused:
            return None
        for woken in self._queues.wake(now_s + self._turns.wall_s + _LOST_S):
            if not woken.busy:
                self._turns.wait(woken)
        for _ in range(_TRIES):
            host = self._next(now_s)
            if host is None:
                return None
            visit = self._try(host, now_s)
            if visit is not None:
                return visit
        return None

    def shut(self) -> None:
        self.gate.shut()

    def take_host(self) -> HostDue | None:
        """The next host that is to be qualified; `qualified` gives it back."""
        return self._due.popleft() if self._due and not self.gate.paused else None

    def _next(self, now_s: float) -> Host | None:
        """A host whose turn it is. Those who come from a line are before all others."""
        if not self._ready:
            self.gate.wake(now_s)
        if self._ready:
            return self._ready.popleft()
        return self._turns.next(now_s, asking=self._asked.has_room(self.config, now_s))

    def _try(self, host: Host, now_s: float) -> Visit | None:
        """Its next visit; None when something stops it, which then knows where the host waits."""
        record = host.record
        turns = self._turns
        if record.given_up:
            return self._refuse(host, record.given_up)
        found = record.qualification
        wall_s = now_s + turns.wall_s
        if turns.is_held(host):
            turns.wait(host)
            return None
        if found is None or is_over(found, wall_s):
            if turns.due_s(host) <= now_s + ROUNDED_S and self._asked.has_room(self.config, now_s):
                self._ask_qualifier(host, wall_s)
            else:
                turns.wait(host)
            return None
        if found.standing != "qualified":
            turns.wait(host)
            return None
        return self._visit(host, found, now_s)

    def _visit(self, host: Host, found: Qualification, now_s: float) -> Visit | None:
        peeked = self._queues.peek(host)
        if peeked is None:
            self._turns.wait(host)
            return None
        key, entry = peeked
        if host.record.ruled and not self._rules(host).allows(entry.url):
            return self._refuse(host, "robots")
        if self._refused is not None and self._refused.match(entry.url):
            return self._refuse(host, "blocked")
        address = found.addresses[host.record.failures_in_row % len(found.addresses)]
        pace = self.gate.blocked(host.name, address, found.crawl_delay_s, now_s)
        if pace is not None:
            again_s = self.gate.stand(pace, partial(self._called, host), now_s)
            if again_s is not None:
                self._turns.postpone(host, again_s)
            return None
        self._queues.pop(host)
        self._visiting += 1
        self._requesting += 1
        self.rate.let_out(now_s)
        return Visit(entry_request(entry), entry.depth, entry.source, entry.redirects, entry.attempt, address, key)

    def _called(self, host: Host) -> bool:
        self._ready.append(host)
        return True

    def _rules(self, host: Host) -> RobotsRules:
        if host.rules is None:
            host.rules = RobotsRules.parse(self.table.robots(host), self.config.agent)
        return host.rules

    def _refuse(self, host: Host, reason: str) -> Visit | None:
        """The next entry's visit is over before it began; the host goes on with the one after it."""
        peeked = self._queues.peek(host)
        if peeked is None:
            self._turns.wait(host)
            return None
        key, entry = peeked
        self._queues.pop(host)
        self._visiting += 1
        self._ready.appendleft(host)
        return Visit(entry_request(entry), entry.depth, entry.source, entry.redirects, entry.attempt, "", key, reason)

    def _ask_qualifier(self, host: Host, wall_s: float) -> None:
        self._asked.add(host.id, self.clock.now_s())
        before = host.record.qualification
        if before is not None:
            before = msgspec.structs.replace(before, robots=self.table.robots(host))
        addresses_only = before is not None and before.standing == "qualified" and before.until_s > wall_s
        self._due.append(HostDue(host.name, before, addresses_only))
        self._tell()

    def qualified(self, name: HostName, found: Qualification) -> None:
        """The qualifier's answer for a host that `take_host` gave it."""
        host = self.table.get(self.table.id_of(name.site, name.host))
        record = host.record
        self._asked.remove(host.id)
        if record.unruled and found.reason == "robots-unreachable" and found.addresses:
            until_s = self.clock.wall_s() + _UNRULED_S
            found = msgspec.structs.replace(found, standing="qualified", until_s=until_s, robots="", reason="")
        self.table.remember_robots(host, found.robots)
        record.qualification = msgspec.structs.replace(found, robots="")
        record.ruled = bool(found.robots)
        host.rules = None
        if found.standing == "for-good":
            record.given_up = found.reason or "robots-unreachable"
        said = "; ".join(filter(None, (found.detail, self.gate.cut_note(found.crawl_delay_s))))
        if said:
            record.last_error = said
        host.noted = True
        self.table.change(host)
        self._turns.wait(host)
        self._tell()

    def unqualified(self, name: HostName) -> None:
        """The qualifier could not find anything out: the host is blocked by now."""
        host = self.table.get(self.table.id_of(name.site, name.host))
        self._asked.remove(host.id)
        self._turns.wait(host)
        self._tell()

    def due_in_s(self) -> float | None:
        if self.exhausted or not self._meta.queued:
            return None
        now_s = self.clock.now_s()
        if now_s < self.rate.free_s:
            return self.rate.free_s - now_s
        if self._ready:
            return 0.0
        retry_s = self._queues.retry_s
        times = (
            None if retry_s is None else retry_s - self._turns.wall_s,
            self._turns.next_s(asking=self._asked.has_room(self.config, now_s)),
            self._asked.next_s(self.config),
            self.gate.next_s(),
        )
        next_s = min((time_s for time_s in times if time_s is not None), default=None)
        return None if next_s is None else max(0.0, next_s - now_s)

    def finish(self, visit: Visit, ending: VisitResult) -> None:
        host = self.table.get(visit.token[:10])
        self._visiting -= 1
        self._queues.settle(host, visit.token)
        self._meta.queued -= 1
        self._left(host, visit, ending)

    def retry(self, visit: Visit, ending: VisitResult, after_s: float) -> None:
        host = self.table.get(visit.token[:10])
        self._visiting -= 1
        entry = next_try(visit)
        self._queues.postpone(host, visit.token, entry, self.clock.now_s() + self._turns.wall_s + after_s)
        self._left(host, visit, ending)

    def _left(self, host: Host, visit: Visit, ending: VisitResult) -> None:
        """A visit is over: the paces begin their delays, the host's health is judged, and it waits for its
        next turn."""
        if visit.address:
            self._requesting -= 1
            self._meta.taken += 1
            record = host.record
            record.taken += 1
            found = record.qualification
            delay_s = self.gate.host_delay_s(
                ending.elapsed_s, 0.0 if found is None else found.crawl_delay_s, host=host.name
            )
            self.gate.left(host.name, visit.address, delay_s, status=ending.status)
            if ending.retry_after_s and asks_to_slow_down(ending.status):
                self._rest(host, ending.retry_after_s)
            rest_s = judged(record, ending, self.config.park_after, self.config.park_s)
            if rest_s:
                self._rest(host, rest_s)
            self.rate.received(ending.bytes, self.clock.now_s())
            host.busy = False
        if not host.busy:
            self._turns.wait(host)
        self._tell()

    def _rest(self, host: Host, seconds: float) -> None:
        """Leave a host alone for a while: it asked for it, or it does not answer."""
        host.noted = True
        host.record.not_before_s = max(host.record.not_before_s, self.clock.now_s() + self._turns.wall_s + seconds)
        self.gate.hold(host.name, self.clock.now_s() + seconds)
