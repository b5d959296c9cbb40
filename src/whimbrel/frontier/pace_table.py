"""All clocks of the gate: the paces of hosts, domains and addresses, and what they begin with.

A pace is made when its host, domain or address is first met. A *floor* is a moment at which everything, or everything
that is met through the hosts of one slot, counts as visited: after a restart, or when a slot was another process's.
"""

from typing import Final

from whimbrel.frontier.crowd import Crowds
from whimbrel.frontier.host_delay import Delays
from whimbrel.frontier.option import GateConfig
from whimbrel.frontier.pace import Pace, network_of
from whimbrel.state.api import KeyValues
from whimbrel.visit import HostName

MAX_PACES: Final = 50_000
"""Beyond this, those that hold nobody back are forgotten."""
_NEVER_S: Final = float("-inf")


class PaceTable:
    def __init__(self, config: GateConfig, state: KeyValues) -> None:
        self.hosts: dict[str, Pace] = {}
        self.domains: dict[str, Pace] = {}
        self.addresses: dict[str, Pace] = {}
        self.config = config
        self.delays = Delays(config)
        self.crowds = Crowds(config, self.delays, state)
        self._floor_s = _NEVER_S
        self._floors: dict[int, float] = {}
        """Of single slots."""
        self._late_floor = False
        """A floor was laid when paces were known: they are raised when they are met."""
        self._most = MAX_PACES

    def reconfigure(self, config: GateConfig) -> None:
        """A delay that runs goes on: hosts may have asked for it. Other delays hold after the next request, caps at
        once."""
        self.config = config
        self.delays = delays = Delays(config)
        self.crowds.reconfigure(config, delays)
        for domain, pace in self.domains.items():
            pace.gap_s, pace.cap = delays.domain_s(domain), delays.domain_cap
        for pace in self.addresses.values():
            if pace.crowd:
                pace.cap = min(pace.cap or delays.crowd_cap, delays.crowd_cap)
            else:
                pace.gap_s, pace.cap = delays.address_s, delays.address_cap

    def lay_floor(self, slot: int | None, now_s: float) -> None:
        """None: for all slots."""
        if slot is None:
            self._floor_s = now_s
            self._floors.clear()
        else:
            self._floors[slot] = now_s
        self._late_floor = bool(self._floors or self.hosts or self.domains or self.addresses)

    def _floor_of(self, host: HostName) -> float:
        return max(self._floor_s, self._floors.get(host.slot, _NEVER_S)) if self._floors else self._floor_s

    def of(self, host: HostName, address: str, crawl_delay_s: float) -> tuple[Pace, Pace, Pace]:
        """The paces of a host, its domain and its address."""
        floor_s = self._floor_of(host) if self._floors else self._floor_s
        one = self.hosts.get(host.site)
        if one is None:
            one = self.hosts[host.site] = Pace(floor_s + self.delays.host_s(0.0, crawl_delay_s, host=host), 1, 0.0)
        elif crawl_delay_s or self._late_floor:
            # The first request since the floor was laid may not have known the Crawl-delay.
            one.free_s = max(one.free_s, floor_s + self.delays.host_s(0.0, crawl_delay_s, host=host))
        domain = self.domains.get(host.domain)
        if domain is None:
            gap_s = self.delays.domain_s(host.domain)
            domain = self.domains[host.domain] = Pace(floor_s + gap_s, self.delays.domain_cap, gap_s)
        network = network_of(address)
        at_address = self.addresses.get(network)
        if at_address is None:
            at_address = self.addresses[network] = self._new_address(network, floor_s)
        if self._late_floor:
            domain.free_s = max(domain.free_s, floor_s + domain.gap_s)
            if not at_address.crowd:
                at_address.free_s = max(at_address.free_s, floor_s + self.delays.address_s)
        return one, domain, at_address

    def free_s(self, host: HostName, crawl_delay_s: float) -> float:
        """When the host itself may be visited next, whatever its domain and address say."""
        pace = self.hosts.get(host.site)
        if pace is not None and not crawl_delay_s and not self._late_floor:
            return pace.free_s
        floor_s = self._floor_of(host) + self.delays.host_s(0.0, crawl_delay_s, host=host)
        return floor_s if pace is None else max(floor_s, pace.free_s)

    def rest_until(self, host: HostName, until_s: float) -> None:
        pace = self.hosts.get(host.site)
        if pace is None:
            pace = self.hosts[host.site] = Pace(until_s, 1, 0.0)
        pace.free_s = max(pace.free_s, until_s)

    def forgive(self, host: HostName, now_s: float) -> None:
        pace = self.hosts.get(host.site)
        if pace is not None:
            pace.free_s = min(pace.free_s, now_s + self.delays.host_s(0.0, 0.0, host=host))

    def _new_address(self, network: str, floor_s: float) -> Pace:
        delays = self.delays
        pace = Pace(floor_s + delays.address_s, delays.address_cap, delays.address_s)
        self.crowds.begin(pace, network)
        return pace

    def sweep(self, now_s: float) -> None:
        """Forget paces that hold nobody back, when there are many. A crowded address stays known on disk.

        A pace that is made anew after a restart counts from the restart again, so it is never less strict than the one
        forgotten. Where most are still needed the next sweep comes only after as many again, or each request would pay
        for one.
        """
        if len(self.hosts) + len(self.domains) + len(self.addresses) <= self._most:
            return
        for paces in (self.hosts, self.domains, self.addresses):
            held = [(name, pace) for name, pace in paces.items() if pace.in_flight or pace.line or pace.free_s > now_s]
            paces.clear()
            paces.update(held)
        self._most = max(MAX_PACES, 2 * (len(self.hosts) + len(self.domains) + len(self.addresses)))
