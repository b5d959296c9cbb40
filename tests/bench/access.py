"""Access logs made by hand: a web, and a pen that writes lines about it."""

from dataclasses import dataclass, field
from itertools import pairwise

from whimbrel.bench.politeness import Etiquette, Tolerance, Violation, judge
from whimbrel.simweb.host import SimHost
from whimbrel.simweb.server.log import LoggedExchange
from whimbrel.simweb.spec import WebSpec
from whimbrel.simweb.web import Web

EPOCH_S = 1_800_000_000.0
ETIQUETTE = Etiquette(delay_s=3.0, domain_s=1.0, ip_s=0.5)
"""Different figures for each clock, so that a test sees which one it was."""
WEB = Web(WebSpec(hosts=800, pages=40, robots={}, shared=0.0, cdn=0.25, several=0.05, external=0.4))


def exhibit(label: str) -> SimHost:
    host = WEB.hosts.find(f"{label}.exhibit.test")
    assert host is not None
    return host


def alone(count: int, *, apart: bool = True) -> list[SimHost]:
    """Hosts with one address of their own; `apart`: each of another domain."""
    step = WEB.spec.hosts_per_domain if apart else 1
    hosts = map(WEB.hosts.get, range(0, WEB.spec.hosts, step))
    return [host for host in hosts if len(host.addresses) == 1 and not host.addresses[0].startswith("127.2.")][:count]


def twins() -> tuple[SimHost, SimHost]:
    """Two hosts of one domain, each at an address of its own."""
    hosts = alone(20, apart=False)
    pairs = ((one, other) for one, other in pairwise(hosts) if one.name.split(".")[1] == other.name.split(".")[1])
    return next(pairs)


def crowd() -> list[SimHost]:
    """The hosts on the crowded address, one of each domain."""
    hosts = (host for host in map(WEB.hosts.get, range(WEB.spec.hosts)) if host.addresses[0].startswith("127.2."))
    return list({host.name.split(".", 1)[1]: host for host in hosts}.values())


@dataclass
class Log:
    """Times are seconds since the log began. The last page written about a host has ended at `end`."""

    lines: list[LoggedExchange] = field(default_factory=list)

    def page(
        self,
        host: SimHost,
        at: float,
        *,
        took: float = 0.01,
        target: str = "/",
        status: int = 200,
        served: str = "page",
        address: str = "",
        late: float = 0.0,
    ) -> float:
        """`late`: how long before it was read the client may have begun with it."""
        start = EPOCH_S + at
        server = f"{address or host.addresses[0]}:{host.port}"
        self.lines.append(
            LoggedExchange(
                *(start, start + took, len(self.lines), "127.0.0.1:4000", server, host.scheme, "HTTP/1.1", "GET"),
                *(host.name, target, status, 4_000, served, "whimbrel", start - late),
            )
        )
        return at + took

    def robots(
        self, host: SimHost, at: float, *, target: str = "/robots.txt", status: int = 200, address: str = ""
    ) -> float:
        return self.page(host, at, target=target, status=status, served="robots", address=address)

    def exhibit(
        self, host: SimHost, at: float, name: str, *, status: int, took: float = 0.01, number: int = 0
    ) -> float:
        return self.page(host, at, target=f"/x/{name}/{number}", status=status, served=name, took=took)

    def judged(
        self, etiquette: Etiquette = ETIQUETTE, *, kills: tuple[float, ...] = (), seeds: tuple[str, ...] = ()
    ) -> list[Violation]:
        # The log has exchanges in the order of their ends.
        lines = sorted(self.lines, key=lambda line: line.end)
        at = [EPOCH_S + kill for kill in kills]
        return judge(lines, WEB, etiquette, kills=at, seeds=seeds, tolerance=Tolerance())

    def rules(
        self, etiquette: Etiquette = ETIQUETTE, *, kills: tuple[float, ...] = (), seeds: tuple[str, ...] = ()
    ) -> list[str]:
        return [violation.rule for violation in self.judged(etiquette, kills=kills, seeds=seeds)]
