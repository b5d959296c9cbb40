"""Crowded addresses: those of content networks, where many domains live.

An address that more than fifty registered domains were met at has no delay, only a cap on requests in flight. The cap
is halved when it asks us to slow down, and grows again with good answers. It takes fifty domains to know a crowd, so it
is remembered over a restart: the state's space `addresses` has a key for each, the address's own slot in two bytes,
then its network as text.
"""

from typing import Final

import msgspec

from whimbrel.frontier.host_delay import Delays
from whimbrel.frontier.option import GateConfig
from whimbrel.frontier.pace import Pace, network_of
from whimbrel.state.api import KeyValues
from whimbrel.url.key import slot

_SPACE: Final = "addresses"
_RECOVERY: Final = 50
"""Good answers after which a crowded address that complained gets one more request in flight."""


class Crowd(msgspec.Struct, frozen=True, array_like=True, gc=False):
    cap: int
    """Requests that may be in flight there."""
    domains: int
    """Registered domains that it was seen with when it became a crowd: with a higher limit it is none."""


class Crowds:
    """Decides which addresses are crowded, and how many requests may be in flight there."""

    def __init__(self, config: GateConfig, delays: Delays, state: KeyValues) -> None:
        self._config = config
        self._delays = delays
        self._state = state

    def reconfigure(self, config: GateConfig, delays: Delays) -> None:
        self._config, self._delays = config, delays

    def begin(self, pace: Pace, network: str) -> None:
        """An address is met for the first time in this run: it may be known for a crowd."""
        known = None if self._delays.none else recall(self._state, network)
        if known is not None and known.domains > self._config.crowd_domains:
            pace.become_crowd(min(known.cap, self._delays.crowd_cap))

    def count_domain(self, pace: Pace, address: str, domain: str) -> bool:
        """A domain is met at an address; true when that has made it a crowd."""
        if pace.domains is None:
            pace.domains = set()
        pace.domains.add(domain)
        if len(pace.domains) <= self._config.crowd_domains:
            return False
        pace.become_crowd(self._delays.crowd_cap)
        self._remember(address, pace)
        return True

    def judge(self, pace: Pace, address: str, *, slow_down: bool) -> None:
        """A crowded address has answered, and may have asked us to slow down: its cap follows."""
        if not pace.cap:
            return
        before = pace.cap
        if slow_down:
            pace.cap, pace.pleased = max(1, pace.cap // 2), 0
        elif pace.cap < self._config.crowd_cap:
            pace.pleased += 1
            if pace.pleased >= _RECOVERY:
                pace.cap, pace.pleased = pace.cap + 1, 0
        if pace.cap != before:
            self._remember(address, pace)

    def _remember(self, address: str, pace: Pace) -> None:
        if not self._delays.none:
            remember(self._state, network_of(address), Crowd(pace.cap, self._config.crowd_domains + 1))


def recall(state: KeyValues, network: str) -> Crowd | None:
    """What is known of an address as a crowd; None when it is not known for one."""
    found = state.get(_SPACE, _key(network))
    return None if found is None else msgspec.msgpack.decode(found, type=Crowd)


def remember(state: KeyValues, network: str, crowd: Crowd) -> None:
    state.put(_SPACE, _key(network), msgspec.msgpack.encode(crowd))


def _key(network: str) -> bytes:
    return slot(network).to_bytes(2, "big") + network.encode()
