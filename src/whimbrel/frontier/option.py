"""The frontier's configuration."""

from typing import Literal

from whimbrel.flow import Config
from whimbrel.frontier.order import Order


class FrontierConfig(Config, frozen=True):
    order: Order = "breadth"
    """Of URLs within a host: `breadth` first, `depth` first, or `ascend`: shorter paths first, parents included."""
    mode: Literal["site", "broad"] = "site"
    """`site` groups hosts into slots by name, `broad` by registered domain."""
    max_pages: int | None = None
    """Requests for pages in all."""
    max_pages_per_host: int | None = None
    """Requests for pages of one host; the rest of its queue waits."""
    max_bytes_per_s: int | None = None
    """Of bodies, all hosts together: after each visit nothing is let out for as long as its bytes are worth."""
    retry_s: float = 30.0
    """Before the second try; four times as long before each further one."""
    park_after: int = 5
    """Failures in a row, of connections, TLS or DNS, after which a host is parked with its queue."""
    park_s: tuple[float, ...] = (900.0, 3_600.0, 21_600.0, 86_400.0)
    """How long, the first time, the second time and so on; after the last the host is given up."""
    max_queries: int | None = 1000
    """URLs of one host, path and set of query keys."""
    qualifying: int = 256
    """Hosts that may be with the qualifier at once."""
    hosts_cached: int = 20_000
    """Hosts kept in memory; those that are busy, or changed since the last commit, come on top."""
    due_cached: int = 50_000
    """Hosts whose turn is next that are kept in memory; the others wait on disk."""
    agent: str = "whimbrel"
    """The product token that robots.txt rules are looked up for."""
