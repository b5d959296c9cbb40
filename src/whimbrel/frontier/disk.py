"""The frontier on disk, with the gate beside it.

A host with work waits for its turn. When it comes the host is `busy` and goes through the same questions each time: is
it qualified, has it a URL that robots.txt allows, do the paces of host, domain and address let it pass. What stops it
says where it waits: at the qualifier, in a pace's line, or for its next turn. A visit that is let out changes nothing
on disk; `finish` and `retry` do.
"""

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Final

import msgspec

from whimbrel.clock import Clock
from whimbrel.flow import Needs, Provider
from whimbrel.frontier.api import UrlSeen
from whimbrel.frontier.gate import Gate
from whimbrel.frontier.health import judged
from whimbrel.frontier.host import Entry, Host, HostTable
from whimbrel.frontier.option import FrontierConfig
from whimbrel.frontier.queue import Queues
from whimbrel.frontier.turn import ROUNDED_S, Turns, is_over
from whimbrel.qualify.api import HostDue, Qualification
from whimbrel.qualify.robots import Rules
from whimbrel.state.api import State
from whimbrel.url import Url, query_group, restore
from whimbrel.url.domain import Domains
from whimbrel.url.key import Keys
from whimbrel.visit import Discovered, Ending, HostName, Visit

_META: Final = b"frontier"
_SECRET: Final = b"secret"
_TOO_MANY: Final = (429, 503)
_LOST_S: Final = 1e-6
"""What may be lost between the monotonic clock and the wall's: they are told apart by ten digits more."""
_TRIES: Final = 100
"""Hosts that one `take` looks at. When so many are stopped, others get a turn before it goes on."""


class _Meta(msgspec.Struct, array_like=True):
    """What the frontier keeps of itself. Changed in memory, written when a group is sealed."""

    number: int = 0
    queued: int = 0
    taken: int = 0
    """Requests that are over. Those under way are not counted: after a crash they are made again."""
    hosts: int = 0
    max_pages_per_host: int | None = None
    """The limit that hosts are held back by."""


class DiskFrontier(Provider):
    Config = FrontierConfig
    state = Needs(State)
    seen = Needs(UrlSeen)
    gate = Needs(Gate)
    clock = Needs(Clock)

    async def open(self) -> None:
        config: FrontierConfig = self.config
        state = self.state
        found = state.get("meta", _META)
        self._meta = _Meta() if found is None else msgspec.msgpack.decode(found, type=_Meta)
        self.keys = Keys(self._secret())
        self.table = HostTable(state, self.keys, Domains(), by_domain=config.mode == "broad", most=config.hosts_cached)
        self._queues = Queues(state, self.table, config.order, self._meta.number)
        self._turns = Turns(config, state, self.table, self.gate, self.clock)
        self._ready: deque[Host] = deque()
        self._due: deque[HostDue] = deque()
        self._qualifying = 0
        self._visiting = 0
        self._requesting = 0
        """Of these, those that are more than a refusal."""
        self._closed_s = float("-inf")
        """Before this nothing is let out: the limit on bytes, or a restart, after which everything counts as just
        visited."""
        self._listeners: list[Callable[[], None]] = []
        self.gate.listen(self._tell)
        if found is not None:
            self.gate.just_visited()
            self._closed_s = self.clock.now_s() + self.gate.host_delay_s(0.0, 0.0)
        if self._meta.max_pages_per_host != config.max_pages_per_host:
            self._meta.max_pages_per_host = config.max_pages_per_host
            self._turns.let_go()

    def _secret(self) -> bytes:
        """The key of all hashes: made once per crawl and kept, so that nobody can craft collisions."""
        import secrets

        found = self.state.get("meta", _SECRET)
        if found is None:
            found = secrets.token_bytes(16)
            self.state.put("meta", _SECRET, found)
        return found

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
        return self._qualifying

    @property
    def hosts(self) -> int:
        return self._meta.hosts

    @property
    def exhausted(self) -> bool:
        """The limit on pages has been reached."""
        limit: int | None = self.config.max_pages
        return limit is not None and self._meta.taken + self._requesting >= limit

    def listen(self, changed: Callable[[], None]) -> None:
        self._listeners.append(changed)

    def _tell(self) -> None:
        for changed in self._listeners:
            changed()

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
        if not self._counted(url):
            return "too-many-queries"
        host = self.table.of(url)
        if not host.record.queued and not host.record.taken and host.record.qualification is None:
            self._meta.hosts += 1
        entry = Entry(url.text, found.depth, found.redirects, 1, found.source)
        self._queues.push(host, url, entry, first=found.first or found.redirects > 0)
        self._meta.queued += 1
        if not host.busy and (not host.record.due or host.out):
            self._turns.wait(host)
        self._tell()
        return ""

    def drop(self, text: str) -> bool:
        return self.seen.add(self.keys.url(text))

    def _counted(self, url: Url) -> bool:
        """Count a URL with a query among its like; false when there are too many."""
        limit = self.config.max_queries
        group = query_group(url) if limit is not None else None
        if group is None:
            return True
        key = self.keys.url(group)
        found = self.state.get("counts", key)
        count = 1 + (0 if found is None else int.from_bytes(found, "little"))
        if count > limit:
            return False
        self.state.put("counts", key, count.to_bytes(4, "little"))
        return True

    def take(self) -> Visit | None:
        now_s = self.clock.now_s()
        if self.exhausted or now_s < self._closed_s:
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
        return self._due.popleft() if self._due else None

    def _next(self, now_s: float) -> Host | None:
        """A host whose turn it is. Those who come from a line are before all others."""
        if not self._ready:
            self.gate.wake(now_s)
        if self._ready:
            return self._ready.popleft()
        return self._turns.next(now_s, asking=self._qualifying < self.config.qualifying)

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
            if self._qualifying < self.config.qualifying and turns.due_s(host) <= now_s + ROUNDED_S:
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
        return Visit(
            *(restore(entry.url), entry.depth, entry.source, entry.redirects, entry.attempt, address, key),
        )

    def _called(self, host: Host) -> bool:
        self._ready.append(host)
        return True

    def _rules(self, host: Host) -> Rules:
        if host.rules is None:
            host.rules = Rules.parse(self.table.robots(host), self.config.agent)
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
        return Visit(
            *(restore(entry.url), entry.depth, entry.source, entry.redirects, entry.attempt, "", key, reason),
        )

    def _ask_qualifier(self, host: Host, wall_s: float) -> None:
        self._qualifying += 1
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
        self._qualifying -= 1
        self.table.remember_robots(host, found.robots)
        record.qualification = msgspec.structs.replace(found, robots="")
        record.ruled = bool(found.robots)
        host.rules = None
        if found.standing == "for-good":
            record.given_up = found.reason or "robots-unreachable"
        if found.detail:
            record.last_error = found.detail
        host.noted = True
        self.table.change(host)
        self._turns.wait(host)
        self._tell()

    def due_in_s(self) -> float | None:
        if self.exhausted or not self._meta.queued:
            return None
        now_s = self.clock.now_s()
        if now_s < self._closed_s:
            return self._closed_s - now_s
        if self._ready:
            return 0.0
        retry_s = self._queues.retry_s
        times = (
            None if retry_s is None else retry_s - self._turns.wall_s,
            self._turns.next_s(asking=self._qualifying < self.config.qualifying),
            self.gate.next_s(),
        )
        next_s = min((time_s for time_s in times if time_s is not None), default=None)
        return None if next_s is None else max(0.0, next_s - now_s)

    def finish(self, visit: Visit, ending: Ending) -> None:
        host = self.table.get(visit.token[:10])
        self._visiting -= 1
        self._queues.settle(host, visit.token)
        self._meta.queued -= 1
        self._left(host, visit, ending)

    def retry(self, visit: Visit, ending: Ending) -> float:
        host = self.table.get(visit.token[:10])
        self._visiting -= 1
        backoff_s: float = self.config.retry_s * 4 ** (visit.attempt - 1)
        after_s = max(backoff_s, ending.retry_after_s)
        entry = Entry(visit.url.text, visit.depth, visit.redirects, visit.attempt + 1, visit.source)
        self._queues.postpone(host, visit.token, entry, self.clock.now_s() + self._turns.wall_s + after_s)
        self._left(host, visit, ending)
        return after_s

    def _left(self, host: Host, visit: Visit, ending: Ending) -> None:
        """A visit is over: the paces begin their delays, the host's health is judged, and it waits for its
        next turn."""
        if visit.address:
            self._requesting -= 1
            self._meta.taken += 1
            record = host.record
            record.taken += 1
            found = record.qualification
            delay_s = self.gate.host_delay_s(ending.elapsed_s, 0.0 if found is None else found.crawl_delay_s)
            self.gate.left(host.name, visit.address, delay_s, status=ending.status)
            if ending.retry_after_s and ending.status in _TOO_MANY:
                self._rest(host, ending.retry_after_s)
            rest_s = judged(record, ending, self.config.park_after, self.config.park_s)
            if rest_s:
                self._rest(host, rest_s)
            rate = self.config.max_bytes_per_s
            if rate:
                self._closed_s = max(self._closed_s, self.clock.now_s()) + ending.bytes / rate
            host.busy = False
        if not host.busy:
            self._turns.wait(host)
        self._tell()

    def _rest(self, host: Host, seconds: float) -> None:
        """Leave a host alone for a while: it asked for it, or it does not answer."""
        host.noted = True
        host.record.not_before_s = max(host.record.not_before_s, self.clock.now_s() + self._turns.wall_s + seconds)
        self.gate.hold(host.name, self.clock.now_s() + seconds)
