"""The gate: when a host, its registered domain and its address may be visited. Nothing fetches around it.

Each of the three has a *pace*: how many requests may be in flight, and when the next may start. Delays count from the
end of a request to the start of the next; of several at one address also from start to start. A start is the moment at
which the request is sent: while one is still connecting nobody else goes to its address. An end is the moment at which
the answer has come; that it is settled only later keeps its host and its domain waiting, but not others at its address,
so these count from both. Whoever finds a pace closed waits in its line and is woken when it opens, so hosts behind a
busy address cost nothing while they wait.

After a restart everything counts as just visited: what was under way when the crawl died is not known.

A gate that is *paused* lets nobody in, whoever asks; all clocks go on.
"""

import asyncio
import heapq
from collections.abc import Callable, Mapping
from itertools import count
from typing import Final

from whimbrel.clock import Clock
from whimbrel.flow import Metric, Needs, Provider
from whimbrel.frontier.option import GateConfig
from whimbrel.frontier.pace import Pace, network_of
from whimbrel.observable import Observable
from whimbrel.outcome import asks_to_slow_down
from whimbrel.qualify.api import GateShut, HostBlocked
from whimbrel.url import Url
from whimbrel.url.filter import HostNames
from whimbrel.visit import HostName

MAX_PACES: Final = 50_000
"""Beyond this, those that hold nobody back are forgotten."""
LINE: Final = 32
"""Hosts that stand in one line, in memory; more come again when it is their turn."""
_CROWD_GAP_S: Final = 0.001
_LOOK_AGAIN_S: Final = 1.0
_LEAST_S: Final = 0.001
"""Who is told to come again must not come at this very moment, whatever is lost in rounding."""
_RECOVERY: Final = 50
"""Good answers after which a crowded address that complained gets one more request in flight."""


_NOTICE_S: Final = 1.0
"""How long it may take who waits at the gate to see that it was shut."""


class Gate(Provider, Observable):
    """Who stands in a line leaves a function there. It is called when the pace has room; it returns true when somebody
    is on the way who has not entered yet, false when the matter is settled: entered, in another line, or gone."""

    Config = GateConfig
    live = frozenset(GateConfig.__struct_fields__)
    fixed = "it knows who has been visited when"
    metrics = (
        Metric("gate_paces", "gauge", "Clocks in memory, by what they are for.", lambda own: own.sizes(), label="of"),
    )
    clock = Needs(Clock)

    def __init__(self, config: GateConfig) -> None:
        super().__init__(config)
        self._hosts: dict[str, Pace] = {}
        self._domains: dict[str, Pace] = {}
        self._addresses: dict[str, Pace] = {}
        self._timers: list[tuple[float, int, Pace]] = []
        self._order = count()
        self._called: list[Pace] = []
        """Paces whose line was called and goes on: whoever was called may not have come."""
        self._floor_s = float("-inf")
        self._shut = False
        self._barrier = Pace(float("inf"), 0, _CROWD_GAP_S)
        """Where everybody waits while the gate is paused."""
        self.paused = False
        self._most_paces = MAX_PACES
        self._derive(config)

    def _derive(self, config: GateConfig) -> None:
        fixed = config.delay_s
        self._free = fixed == 0
        self._domain_s = config.domain_s if fixed is None else fixed
        self._address_s = config.address_s if fixed is None else fixed
        self._delays: Mapping[str, float] = config.delays
        self._blocked = HostNames(config.block)

    def reconfigure(self, config: GateConfig) -> None:
        """What runs, runs off: hosts may have asked for it. Other delays hold after the next request, caps at once."""
        self.config = config
        self._derive(config)
        for domain, pace in self._domains.items():
            pace.gap_s, pace.cap = self._delays.get(domain, self._domain_s), 0 if self._free else 1
        for pace in self._addresses.values():
            if pace.crowd:
                pace.cap = 0 if self._free else min(pace.cap or config.crowd_cap, config.crowd_cap)
            else:
                pace.gap_s, pace.cap = self._address_s, 0 if self._free else config.address_cap
        self._look_again()

    def sizes(self) -> dict[str, float]:
        return {"host": len(self._hosts), "domain": len(self._domains), "address": len(self._addresses)}

    def blocks(self, host: str) -> bool:
        """Whether no request may be made to a host, or to a domain above it."""
        return bool(self._blocked) and self._blocked.hold(host)

    def pause(self) -> None:
        self.paused = True

    def unpause(self) -> None:
        self.paused = False
        line, self._barrier.line = self._barrier.line, None
        for called in line or ():
            called()
        self._tell()

    def _look_again(self) -> None:
        """Caps have changed: who is in a line may go now."""
        self._timers.clear()
        for paces in (self._hosts, self._domains, self._addresses):
            for pace in paces.values():
                pace.armed = False
                self.arm(pace)
        self._tell()

    def shut(self) -> None:
        """The crawl is being stopped: who waits to enter is sent away (GateShut)."""
        self._shut = True

    def just_visited(self) -> None:
        """Everything that is not known better counts as visited at this moment."""
        self._floor_s = self.clock.now_s()

    def host_delay_s(
        self, elapsed_s: float, crawl_delay_s: float, *, qualifying: bool = False, host: HostName | None = None
    ) -> float:
        config: GateConfig = self.config
        asked = self._asked_s(host) if self._delays and host is not None else None
        if asked is not None:
            own = asked
        elif config.delay_s is not None:
            own = config.delay_s
        elif config.mode == "broad":
            own = 0.0 if qualifying else config.broad_delay_s
        else:
            own = min(config.max_delay_s, max(config.min_delay_s, 2 * elapsed_s))
        if qualifying and not self._free:
            own = max(own, config.qualified_s)
        return max(own, min(crawl_delay_s, config.max_crawl_delay_s))

    def cut_note(self, crawl_delay_s: float) -> str:
        """For people: that a Crawl-delay is longer than is honoured; empty when it is not."""
        most_s: float = self.config.max_crawl_delay_s
        return f"Crawl-delay {crawl_delay_s:g} s cut to {most_s:g} s" if crawl_delay_s > most_s else ""

    def _asked_s(self, host: HostName) -> float | None:
        """The delay that was asked for this host, or for its domain."""
        own = self._delays.get(host.host)
        return self._delays.get(host.domain) if own is None else own

    def blocked(self, host: HostName, address: str, crawl_delay_s: float, now_s: float) -> Pace | None:
        """Enter if all three paces are open: None. Otherwise the first that is not."""
        paces = self._paces(host, address, crawl_delay_s)
        for pace in paces:
            if not pace.open(now_s):
                return pace
        for pace in paces:
            pace.in_flight += 1
        one, _, at_address = paces
        if not at_address.crowd:
            one.connecting = at_address.connecting = not self._free
            at_address.free_s = max(at_address.free_s, now_s + self._address_s)
            self._count_domain(at_address, host.domain)
        return None

    def sent(self, url: Url, address: str) -> None:
        """The delay from start to start counts from now on."""
        if self._free:
            return
        one = self._hosts.get(url.site)
        if one is not None and one.connecting:
            self._depart(one, self._addresses[network_of(address)], self.clock.now_s())

    def landed(self, address: str) -> None:
        """The delay from end to start counts from now on; the visit is `left` when it is settled."""
        if self._free:
            return
        pace = self._addresses.get(network_of(address))
        if pace is not None and not pace.crowd:
            pace.free_s = max(pace.free_s, self.clock.now_s() + self.config.margin_s + self._address_s)

    def _depart(self, one: Pace, at_address: Pace, now_s: float) -> None:
        one.connecting = at_address.connecting = False
        if not at_address.crowd:
            at_address.free_s = max(at_address.free_s, now_s + self._address_s)
        self.arm(at_address)

    def _paces(self, host: HostName, address: str, crawl_delay_s: float) -> tuple[Pace, Pace, Pace]:
        floor_s = self._floor_s
        one = self._hosts.get(host.site)
        if one is None:
            one = self._hosts[host.site] = Pace(floor_s + self.host_delay_s(0.0, crawl_delay_s, host=host), 1, 0.0)
        elif crawl_delay_s:
            # Whoever came first since the restart may not have known it.
            one.free_s = max(one.free_s, floor_s + self.host_delay_s(0.0, crawl_delay_s, host=host))
        domain = self._domains.get(host.domain)
        if domain is None:
            gap_s = self._delays.get(host.domain, self._domain_s)
            domain = self._domains[host.domain] = Pace(floor_s + gap_s, 0 if self._free else 1, gap_s)
        network = network_of(address)
        at_address = self._addresses.get(network)
        if at_address is None:
            cap = 0 if self._free else self.config.address_cap
            at_address = self._addresses[network] = Pace(floor_s + self._address_s, cap, self._address_s)
        return one, domain, at_address

    def _count_domain(self, pace: Pace, domain: str) -> None:
        if pace.domains is None:
            pace.domains = set()
        pace.domains.add(domain)
        if len(pace.domains) > self.config.crowd_domains:
            pace.crowd = True
            pace.domains = None
            pace.free_s = float("-inf")
            pace.gap_s = _CROWD_GAP_S
            pace.turn_s = float("-inf")
            pace.cap = 0 if self._free else self.config.crowd_cap
            pace.connecting = False
            pace.armed = False  # Its timer is for a time that no longer matters.
            self.arm(pace)

    def left(self, host: HostName, address: str, delay_s: float, *, status: int = 0) -> None:
        """A request is over; the host's next may start after `delay_s`."""
        now_s = self.clock.now_s() + (0.0 if self._free else self.config.margin_s)
        one, domain, at_address = self._paces(host, address, 0.0)
        if one.connecting:
            self._depart(one, at_address, now_s)
        one.in_flight -= 1
        one.free_s = max(one.free_s, now_s + delay_s)
        domain.in_flight -= 1
        domain.free_s = max(domain.free_s, now_s + domain.gap_s)
        at_address.in_flight -= 1
        if at_address.crowd:
            self._judge_crowd(at_address, status)
        else:
            at_address.free_s = max(at_address.free_s, now_s + self._address_s)
        for pace in (one, domain, at_address):
            self.arm(pace)
        if len(self._hosts) + len(self._domains) + len(self._addresses) > self._most_paces:
            self._sweep(now_s)

    def _judge_crowd(self, pace: Pace, status: int) -> None:
        if pace.cap and asks_to_slow_down(status):
            pace.cap, pace.pleased = max(1, pace.cap // 2), 0
        elif pace.cap and pace.cap < self.config.crowd_cap:
            pace.pleased += 1
            if pace.pleased >= _RECOVERY:
                pace.cap, pace.pleased = pace.cap + 1, 0

    def hold(self, host: HostName, until_s: float) -> None:
        """The host asked for a longer rest (Retry-After)."""
        until_s += self.config.margin_s
        pace = self._hosts.get(host.site)
        if pace is None:
            pace = self._hosts[host.site] = Pace(until_s, 1, 0.0)
        pace.free_s = max(pace.free_s, until_s)

    def forgive(self, host: HostName) -> None:
        """A rest that was held for a host ends; the delay after its last visit does not."""
        pace = self._hosts.get(host.site)
        if pace is not None:
            delay_s = self.host_delay_s(0.0, 0.0, host=host)
            pace.free_s = min(pace.free_s, self.clock.now_s() + delay_s)

    def free_s(self, host: HostName, crawl_delay_s: float) -> float:
        """When the host itself may be visited next, whatever its domain and address say."""
        pace = self._hosts.get(host.site)
        if pace is not None and not crawl_delay_s:
            return pace.free_s
        floor_s = self._floor_s + self.host_delay_s(0.0, crawl_delay_s, host=host)
        return floor_s if pace is None else max(floor_s, pace.free_s)

    def stand(self, pace: Pace, called: Callable[[], bool], now_s: float) -> float | None:
        """Take a place in the line of a pace that is closed: None. Where the time is known (a host's own pace) or the
        line is long, nobody needs to stand there: the answer is the time to come again. Turns behind a long line are as
        far apart as starts can be, so it never runs dry, and a million hosts behind one address wait on disk."""
        if pace.gap_s == 0.0 and pace.free_s > now_s:
            return max(pace.free_s, now_s + _LEAST_S)
        if pace.line is None or len(pace.line) < LINE:
            pace.queue(called)
            self.arm(pace)
            return None
        pace.turn_s = max(pace.turn_s, pace.free_s, now_s) + pace.gap_s
        return pace.turn_s

    def arm(self, pace: Pace) -> None:
        """See to it that the line of a pace moves when its time comes."""
        if pace.line and not pace.armed:
            pace.armed = True
            heapq.heappush(self._timers, (pace.free_s, next(self._order), pace))

    def wake(self, now_s: float) -> None:
        """Call whoever waits for a pace that is open now, as many as it has room for. Call it again when those who
        were called have had their chance: if they did not enter, the next in the line are called."""
        if self._called:
            called, self._called = self._called, []
            for pace in called:
                self.arm(pace)
        while self._timers and self._timers[0][0] <= now_s:
            pace = heapq.heappop(self._timers)[2]
            pace.armed = False
            coming = 0
            while pace.line and pace.open(now_s) and (pace.cap == 0 or pace.in_flight + coming < pace.cap):
                coming += pace.line.popleft()()
            if coming and pace.line:
                self._called.append(pace)
            elif pace.free_s > now_s:
                self.arm(pace)  # Otherwise it is full, or somebody is connecting: `left` and `sent` do.

    def next_s(self) -> float | None:
        """When `wake` has something to do next."""
        if self._called:
            return float("-inf")
        return self._timers[0][0] if self._timers else None

    async def enter(self, host: HostName, address: str, *, own: bool) -> None:  # noqa: ARG002
        """Wait until host, domain and address may be asked: for who makes a request that is no visit."""
        opened = asyncio.get_running_loop().create_future()
        where: Pace | None = None

        def attempt() -> bool:
            """Enters on behalf of who waits: until they woke up somebody else could be in."""
            nonlocal where
            if not opened.done():
                stopped = self.paused or self.blocks(host.host)
                where = self._barrier if stopped else self.blocked(host, address, 0.0, self.clock.now_s())
                if where is None:
                    opened.set_result(None)
                else:
                    where.queue(attempt)
                    if where is not self._barrier:
                        self.arm(where)
            return False

        self._check_open(host, opened)
        attempt()
        try:
            while where is not None:
                self._check_open(host, opened)
                wait_s = where.free_s - self.clock.now_s()
                await asyncio.wait([opened], timeout=min(wait_s, _NOTICE_S) if wait_s > 0 else _LOOK_AGAIN_S)
                if where is not None:
                    self.wake(self.clock.now_s())
                    self._tell()
        except asyncio.CancelledError:
            if where is None:
                self.left(host, address, 0.0)
                self._tell()
            opened.cancel()
            raise

    def _check_open(self, host: HostName, opened: "asyncio.Future[None]") -> None:
        """Whoever waits gives up when the gate is shut, or the host has been blocked."""
        if self._shut or self.blocks(host.host):
            opened.cancel()
            raise GateShut if self._shut else HostBlocked(host.site)

    def leave(self, host: HostName, address: str, elapsed_s: float, *, own: bool, status: int = 0) -> None:
        delay_s = self.host_delay_s(elapsed_s, 0.0, qualifying=own, host=host)
        self.left(host, address, delay_s, status=status)
        self._tell()

    def _sweep(self, now_s: float) -> None:
        """Forget paces that hold nobody back. A crowded address is remembered: it took fifty domains to know it.

        A pace that is made anew after a restart counts from the restart again, so it is never less strict than the one
        forgotten. Where most are still needed the next sweep comes only after as many again, or each request would pay
        for one.
        """
        for paces in (self._hosts, self._domains, self._addresses):
            held = [
                (name, pace)
                for name, pace in paces.items()
                if pace.in_flight or pace.line or pace.crowd or pace.free_s > now_s
            ]
            paces.clear()
            paces.update(held)
        self._most_paces = max(MAX_PACES, 2 * (len(self._hosts) + len(self._domains) + len(self._addresses)))
