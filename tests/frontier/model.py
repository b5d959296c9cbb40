"""What a frontier has to do, written down a second time and as simply as possible (DESIGN: the gate's clocks, failure,
orders). It is asked whether each visit that the frontier lets out may be made, and whether one could be made that it
does not let out."""

import copy
import math
from dataclasses import dataclass, field
from typing import Any

from tests.frontier.clock import VirtualClock
from whimbrel.frontier.option import FrontierConfig, GateConfig
from whimbrel.frontier.pace import network_of
from whimbrel.qualify.api import Qualification
from whimbrel.visit import HostName, Visit, VisitResult

NEVER = math.inf


@dataclass
class Entry:
    url: str
    site: str
    key: tuple[int, ...]
    """Its place in the queue of its host."""
    attempt: int = 1
    state: str = "queued"
    """`queued`, `out`, `waiting` to be tried again, or `done`."""
    again_ms: int = 0
    """Wall clock, of one that waits."""


@dataclass
class Site:
    name: HostName
    qualification: Qualification | None = None
    asking: bool = False
    in_flight: bool = False
    taken: int = 0
    failures: int = 0
    parked: int = 0
    given_up: str = ""
    not_before_s: float = 0.0
    """Wall clock."""
    free_s: float = 0.0
    """Wall clock: the end of its last delay. A frontier that is restarted may remember it, and need not."""


@dataclass
class Place:
    """A domain or an address."""

    free_s: float
    in_flight: int = 0
    crowd: bool = False
    cap: int = 1
    pleased: int = 0
    domains: set[str] = field(default_factory=set)


class Model:
    def __init__(self, clock: VirtualClock, config: FrontierConfig, gate: GateConfig) -> None:
        self.config = config
        self.gate = gate
        self.entries: dict[str, Entry] = {}
        self.sites: dict[str, Site] = {}
        self.number = 0
        self.crowds: dict[str, int] = {}
        """The caps of crowded addresses: they are known after a restart."""
        self.begin(clock, restarted=False)

    def begin(self, clock: VirtualClock, *, restarted: bool) -> None:
        """The process starts. After a restart everything counts as just visited."""
        self.clock = clock
        self.floor_s = clock.now_s() if restarted else -NEVER
        self.closed_s = self.floor_s + self.delay_s(0.0, 0.0)
        self.free: dict[str, float] = {}
        self.domains: dict[str, Place] = {}
        self.addresses: dict[str, Place] = {}

    def snapshot(self) -> Any:
        return copy.deepcopy((self.entries, self.sites, self.number, self.crowds))

    def restore(self, snapshot: Any, clock: VirtualClock) -> None:
        """Back to what was written. What was under way is under way no more."""
        self.entries, self.sites, self.number, self.crowds = copy.deepcopy(snapshot)
        for entry in self.entries.values():
            if entry.state == "out":
                entry.state = "queued"
        for site in self.sites.values():
            site.asking = site.in_flight = False
        self.begin(clock, restarted=True)

    def delay_s(self, elapsed_s: float, crawl_delay_s: float) -> float:
        gate = self.gate
        own = min(gate.max_delay_s, max(gate.min_delay_s, 2 * elapsed_s))
        return max(own, min(crawl_delay_s, gate.max_crawl_delay_s))

    def domain(self, name: HostName) -> Place:
        return self.domains.setdefault(name.domain, Place(self.floor_s + self.gate.domain_s))

    def address(self, text: str) -> Place:
        network = network_of(text)
        fresh = Place(self.floor_s + self.gate.address_s, cap=self.gate.address_cap)
        if network in self.crowds:
            fresh = Place(-NEVER, cap=self.crowds[network], crowd=True)
        return self.addresses.setdefault(network, fresh)

    def add(self, url: str, name: HostName, depth: int, redirects: int) -> bool:
        """Whether it is new."""
        if url in self.entries:
            return False
        self.number += 1
        slashes = url.partition("?")[0].count("/") - 2
        order: dict[str, tuple[int, ...]] = {
            "breadth": (1, depth, self.number),
            "depth": (1, -self.number),
            "ascend": (1, slashes, self.number),
        }
        key = (0, self.number) if redirects else order[self.config.order]
        self.entries[url] = Entry(url, name.site, key)
        self.sites.setdefault(name.site, Site(name))
        return True

    def wake(self) -> None:
        """Those whose time has come go to the heads of their queues, in the order of their times."""
        if self.clock.now_s() < self.closed_s:
            return
        due = [e for e in self.entries.values() if e.state == "waiting" and e.again_ms <= self.clock.wall_ms]
        for entry in sorted(due, key=lambda e: (e.again_ms, e.key)):
            self.number += 1
            entry.key, entry.state = (0, self.number), "queued"

    def head(self, site: str) -> Entry | None:
        found = [e for e in self.entries.values() if e.site == site and e.state == "queued"]
        return min(found, key=lambda e: e.key, default=None)

    def address_of(self, site: Site) -> str:
        assert site.qualification is not None
        return site.qualification.addresses[site.failures % len(site.qualification.addresses)]

    def is_held(self, site: Site) -> bool:
        limit = self.config.max_pages_per_host
        return limit is not None and site.taken >= limit

    def is_over(self, site: Site, wall_s: float) -> bool:
        found = site.qualification
        return found is None or found.until_s <= wall_s or bool(found.addresses and found.addresses_until_s <= wall_s)

    def host_free_s(self, site: Site) -> float:
        """When nothing that the host itself is or asked for keeps it from its next turn."""
        found = site.qualification
        crawl_delay_s = 0.0 if found is None else found.crawl_delay_s
        floor_s = self.floor_s + self.delay_s(0.0, crawl_delay_s)
        resting_s = site.not_before_s - self.clock.wall_s() + self.clock.now_s()
        return max(self.closed_s, self.free.get(site.name.site, floor_s), resting_s)

    def possible_s(self, site: Site, *, room: bool) -> float:
        """When something can be done about a host, if nothing else happens: a visit, a refusal, or a question for the
        qualifier, if that has room."""
        entry = self.head(site.name.site)
        if entry is None or site.in_flight or site.asking:
            return NEVER
        if site.given_up:
            return self.closed_s
        if self.is_held(site):
            return NEVER
        own_s = max(self.host_free_s(site), site.free_s - self.clock.wall_s() + self.clock.now_s())
        found = site.qualification
        if found is not None:
            # Soon after a restart a longer delay may be kept than is needed.
            own_s = max(own_s, self.floor_s + self.delay_s(0.0, found.crawl_delay_s))
        if found is not None and found.standing == "disqualified":
            own_s = max(own_s, found.until_s - self.clock.wall_s() + self.clock.now_s())
        asked_s = max(own_s, self.clock.now_s())
        over = self.is_over(site, self.clock.wall_s() - self.clock.now_s() + asked_s)
        if over and (not room or found is None or found.standing != "qualified"):
            return own_s if room else NEVER
        # Who stands in a line finds out when it is called that it must be qualified anew, or that robots.txt forbids
        # what has come to the head of its queue.
        domain, address = self.domain(site.name), self.address(self.address_of(site))
        if domain.in_flight or (address.cap and address.in_flight >= address.cap):
            return NEVER
        return max(own_s, domain.free_s, address.free_s)

    def refused(self, site: Site, entry: Entry) -> bool:
        return site.qualification is not None and bool(site.qualification.robots) and "/no/" in entry.url

    def take(self, visit: Visit) -> None:
        """The frontier lets a visit out: may it?"""
        site, now_s = self.sites[visit.url.site], self.clock.now_s()
        entry = self.head(site.name.site)
        assert entry is not None, f"{visit.url} is not queued, or not again"
        assert visit.url.text == entry.url, f"{visit.url} before {entry.url}"
        assert visit.attempt == entry.attempt
        assert now_s >= self.closed_s
        assert not site.asking
        entry.state = "out"
        if not visit.address:
            assert visit.refusal == (site.given_up or "robots")
            assert site.given_up or self.refused(site, entry)
            return
        assert not site.given_up
        assert not site.in_flight
        assert not self.is_held(site)
        assert site.qualification is not None
        assert site.qualification.standing == "qualified"
        assert not self.is_over(site, self.clock.wall_s() - 1e-6)
        assert not self.refused(site, entry)
        assert now_s >= self.host_free_s(site) - 1e-6
        assert visit.address == self.address_of(site)
        self._enter(site, visit.address)

    def _enter(self, site: Site, address: str) -> None:
        now_s = self.clock.now_s()
        domain, place = self.domain(site.name), self.address(address)
        assert not domain.in_flight
        assert now_s >= domain.free_s - 1e-6
        assert place.in_flight < place.cap
        assert now_s >= place.free_s - 1e-6
        site.in_flight = True
        domain.in_flight += 1
        place.in_flight += 1
        if not place.crowd:
            place.free_s = now_s + self.gate.address_s
            place.domains.add(site.name.domain)
            if len(place.domains) > self.gate.crowd_domains:
                place.crowd, place.cap, place.free_s = True, self.gate.crowd_cap, -NEVER
                self.crowds[network_of(address)] = place.cap

    def end(self, visit: Visit, ending: VisitResult, *, again_s: float | None) -> None:
        """`again_s`: it is to be tried again after so long."""
        entry, site = self.entries[visit.url.text], self.sites[visit.url.site]
        assert entry.state == "out"
        entry.state = "done"
        if again_s is not None:
            entry.state, entry.attempt = "waiting", entry.attempt + 1
            entry.again_ms = math.ceil(self.clock.wall_ms + again_s * 1000 - 1e-6)
        if visit.address:
            self._leave(site, visit.address, ending)
            self._judge(site, ending)

    def _leave(self, site: Site, address: str, ending: VisitResult) -> None:
        now_s, name = self.clock.now_s(), site.name
        crawl_delay_s = 0.0 if site.qualification is None else site.qualification.crawl_delay_s
        site.in_flight = False
        site.taken += 1
        delay_s = self.delay_s(ending.elapsed_s, crawl_delay_s)
        self.free[name.site], site.free_s = now_s + delay_s, self.clock.wall_s() + delay_s
        domain, place = self.domain(name), self.address(address)
        domain.in_flight -= 1
        domain.free_s = now_s + self.gate.domain_s
        place.in_flight -= 1
        if not place.crowd:
            place.free_s = now_s + self.gate.address_s
        elif ending.status in (429, 503) or ending.retry_after_s:
            place.cap, place.pleased = max(1, place.cap // 2), 0
        elif place.cap < self.gate.crowd_cap:
            place.pleased += 1
            if place.pleased == 50:
                place.cap, place.pleased = place.cap + 1, 0
        if place.crowd:
            self.crowds[network_of(address)] = place.cap

    def _judge(self, site: Site, ending: VisitResult) -> None:
        rest_s = ending.retry_after_s
        if ending.connected:
            site.failures = site.parked = 0
        else:
            site.failures += 1
            if site.failures == self.config.park_after:
                site.failures, site.parked = 0, site.parked + 1
                if site.parked > len(self.config.park_s):
                    site.given_up = ending.trouble
                else:
                    rest_s = max(rest_s, self.config.park_s[site.parked - 1])
        if rest_s:
            site.not_before_s = max(site.not_before_s, self.clock.wall_s() + rest_s)

    @property
    def queued(self) -> int:
        return sum(entry.state != "done" for entry in self.entries.values())
