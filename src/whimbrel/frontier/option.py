"""The configuration of the frontier and its gate."""

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
    max_pages_per_s: float | None = None
    """Requests for pages per second, all hosts together."""
    refuse: tuple[str, ...] = ()
    """Patterns with `*`: a queued URL that matches one is not visited, and ends as `denied`."""
    park_after: int = 5
    """Failures in a row, of connections, TLS or DNS, after which a host is parked with its queue."""
    park_s: tuple[float, ...] = (900.0, 3_600.0, 21_600.0, 86_400.0)
    """How long, the first time, the second time and so on; after the last the host is given up."""
    max_queries: int | None = 1000
    """URLs of one host, path and set of query keys."""
    qualifying: int = 512
    """Hosts that may be with the qualifier at once."""
    new_hosts: int = 128
    """Of these, those that have been with it for less than a second: about twice as many as there are connections for
    when they come back."""
    hosts_bytes: int = 64_000_000
    """Of memory, for hosts and the next entries of their queues: about 20,000 hosts. Those that are busy, or changed
    since the last commit, come on top."""
    rules_bytes: int = 48_000_000
    """Of memory, for the rules of robots.txt files, of which one may take 8 MB."""
    due_cached: int = 50_000
    """Hosts whose turn is next that are kept in memory; the others wait on disk."""
    agent: str = "whimbrel"
    """The product token that robots.txt rules are looked up for."""


class GateConfig(Config, frozen=True):
    mode: Literal["site", "broad"] = "site"
    """`site`: a delay after each answer of twice the time it took, between `min_delay_s` and `max_delay_s`. `broad`:
    `broad_delay_s`."""
    delay_s: float | None = None
    """One delay for host, domain and address instead; 0, for one's own servers, lifts the cap per address too."""
    min_delay_s: float = 1.0
    """In `site` mode: the least."""
    max_delay_s: float = 30.0
    """In `site` mode: the most, but for Crawl-delay."""
    broad_delay_s: float = 30.0
    """In `broad` mode: after each answer."""
    domain_s: float = 1.0
    """Between two requests to a registered domain; one at a time."""
    address_s: float = 0.5
    """Between two requests to an address: from start to start, and from the last end to the next start."""
    address_cap: int = 4
    """Requests in flight at one address."""
    crowd_domains: int = 50
    """An address with more registered domains than this is a content network: it has no delay, only `crowd_cap`."""
    crowd_cap: int = 20
    """Requests in flight at such an address; halved with each answer that asks to slow down, and won back slowly."""
    max_crawl_delay_s: float = 300.0
    """The longest Crawl-delay of a robots.txt that is honoured."""
    margin_s: float = 0.02
    """Added to every delay: a server may see the end of an answer a little later than we do."""
    qualified_s: float = 1.0
    """From the end of a robots.txt request to the next request to the host, at least; not where `delay_s` is 0."""
    delays: dict[str, float] = {}  # noqa: RUF012 - msgspec copies it
    """For single hosts and domains: the delay between two requests, instead of the others. A longer Crawl-delay of
    robots.txt holds all the same."""
    block: tuple[str, ...] = ()
    """Hosts, domains and sites to which no request is made, also not for robots.txt."""
