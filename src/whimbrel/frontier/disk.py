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
from whimbrel.frontier.listen import Told
from whimbrel.frontier.meta import Meta, kept_secret
from whimbrel.frontier.metric import FRONTIER
from whimbrel.frontier.option import FrontierConfig
from whimbrel.frontier.queue import Queues
from whimbrel.frontier.rate import Rate
from whimbrel.frontier.turn import ROUNDED_S, Turns, is_over
from whimbrel.outcome import asks_to_slow_down
from whimbrel.qualify.api import HostDue, Qualification
from whimbrel.qualify.robots import Rules
from whimbrel.state.api import State
from whimbrel.url.domain import Domains
from whimbrel.url.glob import Globs
from whimbrel.url.key import Keys
from whimbrel.visit import Discovered, Ending, HostName, Visit

_META: Final = b"frontier"
_LOST_S: Final = 1e-6
"""What may be lost between the monotonic clock and the wall's: they are told apart by ten digits more."""
_TRIES: Final = 100
"""Hosts that one `take` looks at. When so many are stopped, others get a turn before it goes on."""
_UNRULED_S: Final = 86_400.0
"""For how long a host is qualified by the user's word."""


class DiskFrontier(Provider, Told):
    Config = FrontierConfig
    live = frozenset(
        {"order", "max_pages", "max_pages_per_host", "max_bytes_per_s", "max_pages_per_s", "refuse", "max_queries"}
        | {"retry_s", "park_after", "park_s", "qualifying", "new_hosts"}
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
        entry = next_try(visit)
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
