"""Hosts that are with the qualifier, and how many more it may be asked about."""

from typing import Final

from whimbrel.frontier.option import FrontierConfig

_SLOW_S: Final = 1.0


class Asked:
    """Two bounds. Most hosts come back at once, and then want to be visited: they are begun no faster than they can
    be, because a connection that has brought a host's robots.txt is kept for its pages for a while only, and a TLS
    handshake costs more than a page. Hosts that are slow come back one by one, if ever: there may be many of them, and
    they keep nobody waiting."""

    def __init__(self) -> None:
        self.count = 0
        self._new: dict[bytes, float] = {}
        """When each was begun, the oldest first; without those that are slow."""

    def add(self, host: bytes, now_s: float) -> None:
        self.count += 1
        self._new[host] = now_s

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
