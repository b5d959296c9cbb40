"""The gate: when a host, its registered domain and its address may be visited. Nothing fetches around it.

Each of the three has a *pace*: how many requests may be in flight, and when the next may start. Delays count from the
end of a request to the start of the next; of several at one address also from start to start. A start is the moment at
which the request is sent: while one is still connecting no other goes to its address. An end is the moment at which
the answer has come; that it is settled only later keeps its host and its domain waiting, but not others at its address,
so these count from both. A request that finds a pace closed waits in its line and is called when it opens, so hosts
behind a busy address cost nothing while they wait.

After a restart everything counts as just visited: what was under way when the crawl died is not known. Crowded
addresses are remembered (`crowd.py`).

The gate as a whole is *closed* for a set of reasons: paused by its operator, a disk that takes no data. While there is
one, no request begins; all clocks go on.
"""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Final

from whimbrel.clock import Clock
from whimbrel.flow import Metric, Needs, Provider
from whimbrel.frontier.api import OPERATOR, Permit, Permits
from whimbrel.frontier.line import Lines
from whimbrel.frontier.option import GateConfig
from whimbrel.frontier.pace import CROWD_GAP_S, Pace, network_of
from whimbrel.frontier.pace_table import PaceTable
from whimbrel.observable import Observable
from whimbrel.outcome import asks_to_slow_down
from whimbrel.qualify.api import GateShut, HostBlocked
from whimbrel.state.api import KeyValues
from whimbrel.url import Url
from whimbrel.url.block_list import BlockList
from whimbrel.visit import HostName

_LOOK_AGAIN_S: Final = 1.0
_LEAST_S: Final = 0.001
"""A refused permit is asked for again after so long, at the earliest."""
_NOTICE_S: Final = 1.0
"""How long it may take a request that waits at the gate to see that it was shut."""


class PacedGate(Provider, Observable):
    """The gate of one process, with its clocks in memory."""

    Config = GateConfig
    live = frozenset(GateConfig.__struct_fields__)
    fixed = "it knows which hosts have been visited when"
    metrics = (
        Metric("gate_paces", "gauge", "Clocks in memory, by what they are for.", lambda own: own.sizes(), label="of"),
        Metric(
            "gate_closed",
            "gauge",
            "1 for each reason for which no request begins.",
            lambda own: dict.fromkeys(own.closed_for, 1.0),
            label="reason",
        ),
    )
    clock = Needs(Clock)
    state = Needs(KeyValues)
    permits = Needs(Permits)

    def __init__(self, config: GateConfig) -> None:
        super().__init__(config)
        self._lines = Lines()
        self._refusals: dict[Permit, Pace] = {}
        """Where requests wait for permits that were refused."""
        self._shut = False
        self.closed_for: frozenset[str] = frozenset()
        self._barrier = Pace(float("inf"), 0, CROWD_GAP_S)
        """Where requests wait while the gate is closed. Time alone never opens it."""
        self._barrier.armed = True

    async def open(self) -> None:
        self._paces = PaceTable(self.config, self.state)
        self._derive(self.config)

    def _derive(self, config: GateConfig) -> None:
        """What every request looks at is at hand."""
        self._free = self._paces.delays.none
        self._address_s = self._paces.delays.address_s
        self._blocked = BlockList(config.block)

    def reconfigure(self, config: GateConfig) -> None:
        self.config = config
        self._paces.reconfigure(config)
        self._derive(config)
        self._look_again()

    def sizes(self) -> dict[str, float]:
        paces = self._paces
        return {"host": len(paces.hosts), "domain": len(paces.domains), "address": len(paces.addresses)}

    @property
    def blocked(self) -> tuple[str, ...]:
        names: tuple[str, ...] = self.config.block
        return names

    def blocks(self, host: HostName) -> bool:
        return bool(self._blocked) and self._blocked.holds(host)

    @property
    def paused(self) -> bool:
        return OPERATOR in self.closed_for

    def close_for(self, reason: str) -> None:
        self.closed_for |= {reason}

    def reopen_for(self, reason: str) -> None:
        if reason not in self.closed_for:
            return
        self.closed_for -= {reason}
        if not self.closed_for:
            line, self._barrier.line = self._barrier.line, None
            for called in line or ():
                called()
            self._tell()

    def _look_again(self) -> None:
        """Caps have changed: requests in a line may go now."""
        self._lines.forget_timers()
        known = self._paces
        for paces in (known.hosts, known.domains, known.addresses, self._refusals):
            for pace in paces.values():
                self._lines.rearm(pace)
        self._tell()

    def shut(self) -> None:
        self._shut = True

    def admit(self) -> None:
        self._shut = False

    def mark_visited(self, slot: int | None = None) -> None:
        self._paces.lay_floor(slot, self.clock.now_s())

    def host_delay_s(
        self, elapsed_s: float, crawl_delay_s: float, *, qualifying: bool = False, host: HostName | None = None
    ) -> float:
        return self._paces.delays.host_s(elapsed_s, crawl_delay_s, qualifying=qualifying, host=host)

    def cut_note(self, crawl_delay_s: float) -> str:
        return self._paces.delays.cut_note(crawl_delay_s)

    def try_enter(self, host: HostName, address: str, crawl_delay_s: float, now_s: float) -> Pace | None:
        if self.closed_for:
            return self._barrier
        paces = self._paces.of(host, address, crawl_delay_s)
        for pace in paces:
            if not pace.open(now_s):
                return pace
        if not self.permits.unlimited and (refusal := self._refused(host.domain, address, now_s)) is not None:
            return refusal
        for pace in paces:
            pace.in_flight += 1
        one, _, at_address = paces
        if not at_address.crowd:
            one.connecting = at_address.connecting = not self._free
            at_address.free_s = max(at_address.free_s, now_s + self._address_s)
            if self._paces.crowds.count_domain(at_address, address, host.domain):
                self._lines.rearm(at_address)  # Its timer is for a time that no longer matters.
        return None

    def _refused(self, domain: str, address: str, now_s: float) -> Pace | None:
        """Acquire both permits: None. Otherwise where to wait for the one that was refused."""
        wanted = (Permit("domain", domain), Permit("address", network_of(address)))
        for permit in wanted:
            again_s = self.permits.acquire(permit, partial(self._permit_changed, permit))
            if again_s is not None:
                if permit is not wanted[0]:
                    self.permits.release(wanted[0], None)
                refusal = self._refusals.setdefault(permit, Pace(again_s, 0, CROWD_GAP_S))
                refusal.free_s = max(again_s, now_s + _LEAST_S)
                return refusal
        for permit in wanted:
            if (known := self._refusals.get(permit)) is not None and not known.line:
                del self._refusals[permit]
        return None

    def _permit_changed(self, permit: Permit) -> None:
        refusal = self._refusals.get(permit)
        if refusal is not None:
            refusal.free_s = float("-inf")
            self._lines.rearm(refusal)
            self._tell()

    def sent(self, url: Url, address: str) -> None:
        """The delay from start to start counts from now on."""
        if self._free:
            return
        one = self._paces.hosts.get(url.site)
        if one is not None and one.connecting:
            self._depart(one, self._paces.addresses[network_of(address)], self.clock.now_s())

    def landed(self, address: str) -> None:
        """The delay from end to start counts from now on; the visit is `left` when it is settled."""
        if self._free:
            return
        pace = self._paces.addresses.get(network_of(address))
        if pace is not None and not pace.crowd:
            pace.free_s = max(pace.free_s, self.clock.now_s() + self.config.margin_s + self._address_s)

    def _depart(self, one: Pace, at_address: Pace, now_s: float) -> None:
        one.connecting = at_address.connecting = False
        if not at_address.crowd:
            at_address.free_s = max(at_address.free_s, now_s + self._address_s)
        self._lines.arm(at_address)

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
        delay_s = self._paces.delays.host_s(elapsed_s, crawl_delay_s, host=host)
        self._begin_delays(host, address, delay_s, status, retry_after_s)

    def _begin_delays(
        self, host: HostName, address: str, delay_s: float, status: int = 0, retry_after_s: float = 0.0
    ) -> None:
        """A request is over, or was never made: the host's next may start after `delay_s`."""
        now_s = self.clock.now_s() + (0.0 if self._free else self.config.margin_s)
        one, domain, at_address = self._paces.of(host, address, 0.0)
        if one.connecting:
            self._depart(one, at_address, now_s)
        one.in_flight -= 1
        one.free_s = max(one.free_s, now_s + delay_s)
        domain.in_flight -= 1
        domain.free_s = max(domain.free_s, now_s + domain.gap_s)
        at_address.in_flight -= 1
        if at_address.crowd:
            self._paces.crowds.judge(at_address, address, slow_down=asks_to_slow_down(status, retry_after_s))
        else:
            at_address.free_s = max(at_address.free_s, now_s + self._address_s)
        if not self.permits.unlimited:
            self.permits.release(Permit("domain", host.domain), now_s)
            self.permits.release(Permit("address", network_of(address)), now_s)
        for pace in (one, domain, at_address):
            self._lines.arm(pace)
        self._paces.sweep(now_s)

    def rest_until(self, host: HostName, until_s: float) -> None:
        self._paces.rest_until(host, until_s + self.config.margin_s)

    def forgive(self, host: HostName) -> None:
        self._paces.forgive(host, self.clock.now_s())

    def free_s(self, host: HostName, crawl_delay_s: float) -> float:
        return self._paces.free_s(host, crawl_delay_s)

    def wait_in_line(self, pace: Pace, called: Callable[[], bool], now_s: float) -> float | None:
        if pace is self._barrier:
            self._lines.queue(pace, called)
            return None
        return self._lines.wait(pace, called, now_s)

    def wake(self, now_s: float) -> None:
        self._lines.wake(now_s)

    def next_s(self) -> float | None:
        return self._lines.next_s()

    async def enter(self, host: HostName, address: str, *, own: bool) -> None:  # noqa: ARG002
        opened = asyncio.get_running_loop().create_future()
        where: Pace | None = None

        def attempt() -> bool:
            """Enters on behalf of the request that waits: until it woke up another could be in."""
            nonlocal where
            if not opened.done():
                refused = self.blocks(host)
                where = self._barrier if refused else self.try_enter(host, address, 0.0, self.clock.now_s())
                if where is None:
                    opened.set_result(None)
                else:
                    self._lines.queue(where, attempt)
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
                self._begin_delays(host, address, 0.0)
                self._tell()
            opened.cancel()
            raise

    def _check_open(self, host: HostName, opened: "asyncio.Future[None]") -> None:
        """A request gives up waiting when the gate is shut, or its host has been blocked."""
        if self._shut or self.blocks(host):
            opened.cancel()
            raise GateShut if self._shut else HostBlocked(host.site)

    def leave(
        self,
        host: HostName,
        address: str,
        elapsed_s: float,
        *,
        own: bool,
        status: int = 0,
        retry_after_s: float = 0.0,
    ) -> None:
        delay_s = self._paces.delays.host_s(elapsed_s, 0.0, qualifying=own, host=host)
        self._begin_delays(host, address, delay_s, status, retry_after_s)
        self._tell()
