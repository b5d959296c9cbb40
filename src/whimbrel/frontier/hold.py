"""What the user holds back: hosts that wait in a queue of their own, and URLs that end without a request.

A host that is held keeps its URLs, and goes on when the hold is lifted: it is blocked, or has had as many pages as it
may have. A URL that is refused is `denied`.
"""

from whimbrel.frontier.api import Gate
from whimbrel.frontier.host import Host
from whimbrel.frontier.option import FrontierConfig
from whimbrel.url.glob import Globs


class Hold:
    """Which hosts are blocked is the gate's knowledge, because requests for robots.txt ask for that, too."""

    __slots__ = ("_gate", "_most_pages", "_refused")

    def __init__(self, config: FrontierConfig, gate: Gate) -> None:
        self._gate = gate
        self.reconfigure(config)

    def reconfigure(self, config: FrontierConfig) -> None:
        self._most_pages = config.max_pages_per_host
        self._refused = Globs(config.refuse) if config.refuse else None

    def holds(self, host: Host) -> bool:
        """Whether a host is not to be visited now."""
        most = self._most_pages
        return (most is not None and host.record.taken >= most) or self._gate.blocks(host.name)

    def refuses(self, url: str) -> bool:
        """Whether a URL is not to be visited at all."""
        return self._refused is not None and self._refused.match(url)
