"""From a line of the access log to a visit: which site, domain and address, and whether it was for robots.txt."""

from collections.abc import Iterable, Iterator
from operator import attrgetter
from typing import TYPE_CHECKING, Final, Protocol

import msgspec

from whimbrel.bench.politeness.etiquette import Tolerance, Violation
from whimbrel.simweb.exhibit.robots import HOP_PREFIX, VARIANTS, RobotsVariant
from whimbrel.simweb.host import SimHost
from whimbrel.simweb.server.log import LoggedExchange
from whimbrel.simweb.web import Web

if TYPE_CHECKING:
    from publicsuffixlist import PublicSuffixList

_CLIENT_ENDS: Final = frozenset(("stall", "stall-body", "drip", "body-endless", "header-endless", "header-huge"))
"""Exhibits that go on until the client has had enough."""
CUT: Final = frozenset(("truncated",))
"""Exhibits whose answer is a good one and ends too early: it may be asked for again."""
_MISSING_HOP: Final = "/no-robots-here"
"""Where the robots.txt variant `redirect-404` leads."""


class LoggedSite(msgspec.Struct, frozen=True, gc=False):
    """A site of the log. `host` and `variant` are None where the web has no such host."""

    site: str
    """Scheme, host and port."""
    domain: str
    """The registered domain."""
    host: SimHost | None
    variant: RobotsVariant | None
    hop: bool
    """Other hosts' robots.txt redirect here, so its own may be asked for on their behalf."""


class LoggedVisit(msgspec.Struct, frozen=True, gc=False):
    """One request and its answer, as the rules see it."""

    start_s: float
    since_s: float
    """The client had not begun with it by then."""
    end_s: float
    """Where the client ended the exchange, the earliest time at which it can have done so."""
    logged_end_s: float
    """The latest: what the log says."""
    place: LoggedSite
    address: str
    target: str
    status: int
    served: str
    qualifies: bool
    """Asks for robots.txt, or follows its redirect."""


class PolitenessRule(Protocol):
    """Sees every visit once, in the order in which they began."""

    def see(self, visit: LoggedVisit, found: list[Violation]) -> None:
        """Add what this visit violates."""


class Places:
    """Finds the place of a log line. Bounded by the sites in the log."""

    def __init__(self, web: Web) -> None:
        self._web = web
        self._suffixes = _suffixes()
        self._known: dict[tuple[str, str, str], LoggedSite] = {}
        self._domains: dict[str, str] = {}
        self._hop = f"robots-rules.exhibit.{web.spec.suffix}"

    def find(self, scheme: str, name: str, port: str) -> LoggedSite:
        key = (scheme, name, port)
        place = self._known.get(key)
        if place is None:
            host = self._web.hosts.find(name)
            variant = None if host is None else VARIANTS[host.robots]
            site = f"{scheme}://{name}:{port}"
            place = self._known[key] = LoggedSite(site, self.domain(name), host, variant, name == self._hop)
        return place

    def domain(self, name: str) -> str:
        """The registered domain; the name itself where it has none, or is none of this web (an address, say)."""
        domain = self._domains.get(name)
        if domain is None:
            found = self._suffixes.privatesuffix(name) if name.endswith(self._web.spec.suffix) else None
            domain = self._domains[name] = found or name
        return domain


def _suffixes() -> "PublicSuffixList":
    # Imported here: reading the list takes a while.
    from publicsuffixlist import PublicSuffixList

    return PublicSuffixList()


def visits(exchanges: Iterable[LoggedExchange], places: Places, tolerance: Tolerance) -> Iterator[LoggedVisit]:
    """In the order of their starts: the log has them in the order of their ends."""
    servers: dict[str, tuple[str, str]] = {}
    for e in sorted(exchanges, key=attrgetter("start")):
        server = servers.get(e.server)
        if server is None:
            address, _, port = e.server.rpartition(":")
            server = servers[e.server] = (address, port)
        place = places.find(e.scheme, e.host, server[1])
        qualifies = is_robots(place, e.target)
        end = e.end
        if e.served in _CLIENT_ENDS or (qualifies and e.status == 0):
            end = max(e.start, end - tolerance.abort_s)
        yield LoggedVisit(e.start, e.since, end, e.end, place, server[0], e.target, e.status, e.served, qualifies)


def is_robots(place: LoggedSite, target: str) -> bool:
    if target == "/robots.txt" or target.startswith(HOP_PREFIX):
        return True
    return target == _MISSING_HOP and place.variant is not None and place.variant.name == "redirect-404"
