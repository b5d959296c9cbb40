"""Hosts that are with the qualifier, and how many more it may be asked about."""

from collections import deque
from typing import Final

from whimbrel.frontier.host import Host
from whimbrel.frontier.option import FrontierConfig
from whimbrel.qualify.api import HostDue

_SLOW_S: Final = 1.0


class QualifierQuota:
    """Two bounds. Most hosts come back at once, and then want to be visited: they are begun no faster than they can
    be, because a connection that has brought a host's robots.txt is kept for its pages for a while only, and a TLS
    handshake costs more than a page. Hosts that are slow come back one by one, if ever: there may be many of them, and
    they keep nobody waiting."""

    def __init__(self) -> None:
        self.count = 0
        self._new: dict[bytes, float] = {}
        """When each was begun, the oldest first; without those that are slow."""
        self._due: deque[HostDue] = deque()
        """Those that it is to be asked about next."""

    def ask(self, host: Host, time_s: float, now_s: float) -> None:
        """The qualifier is to be asked about a host."""
        self.count += 1
        self._new[host.id] = now_s
        before = host.record.qualification
        addresses_only = before is not None and before.standing == "qualified" and before.until_s > time_s
        self._due.append(HostDue(host.name, before, addresses_only, host.record.unruled))

    def take(self) -> HostDue | None:
        return self._due.popleft() if self._due else None

    def remove(self, host: bytes) -> None:
        self.count -= 1
        self._new.pop(host, None)

    def has_room(self, config: FrontierConfig, now_s: float) -> bool:
        while self._new and (oldest := next(iter(self._new.items())))[1] <= now_s - _SLOW_S:
            del self._new[oldest[0]]
        return self.count < config.qualifying and len(self._new) < config.new_hosts

    def next_s(self, config: FrontierConfig) -> float | None:
        """When there is room though nobody has come back; None when that will not be."""
        if self.count >= config.qualifying or len(self._new) < config.new_hosts:
            return None
        return next(iter(self._new.values())) + _SLOW_S
