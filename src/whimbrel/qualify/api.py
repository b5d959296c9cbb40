"""What qualification says about a host."""

from typing import Literal, Protocol

import msgspec

from whimbrel.fetch.api import Traffic
from whimbrel.shortage import Shortage
from whimbrel.visit import HostName

Standing = Literal["qualified", "disqualified", "for-good"]


class Qualification(msgspec.Struct, frozen=True, gc=False):
    """The outcome of one attempt (Agarwal et al. §3.4, RFC 9309). Times are wall clock."""

    standing: Standing
    until_s: float
    """When it must be asked again; for a host that is disqualified for good it means nothing."""
    addresses: tuple[str, ...]
    """To be used in this order: the one that answered first."""
    addresses_until_s: float
    robots: str | None = ""
    """The text of robots.txt when it has rules for us; empty is no rules. None: what it was, whatever that is. A text
    may be long, and is not handed to and fro."""
    crawl_delay_s: float = 0.0
    """As robots.txt asks for it, however long; the gate decides how much of it is honoured."""
    sitemaps: tuple[str, ...] = ()
    robots_at_s: float = 0.0
    """When robots.txt was last asked for."""
    robots_status: int = 0
    """The status found at the end of its redirects; 0 when nobody answered."""
    failures: int = 0
    """Successive attempts that ended in a disqualification."""
    good_robots_at_s: float = 0.0
    """When `robots` was obtained: it is used for a while after robots.txt has become unreachable."""
    reason: str = ""
    """Why it is disqualified, in the words of outcomes: `dns`, `private-address`, `robots-unreachable`; else empty."""
    detail: str = ""
    """For people: what happened."""


class GateShut(Exception):
    """The crawl is being stopped: no request may be begun any more."""


class HostBlocked(Exception):
    """No request may be made to this site, by the operator's wish."""

    def __init__(self, site: str) -> None:
        super().__init__(f"{site} is blocked")
        self.site = site


class NotAsked(Exception):
    """A request was abandoned for reasons of our own: nothing is known of the host."""

    def __init__(self, shortage: Shortage | None) -> None:
        super().__init__("the exchange was abandoned" if shortage is None else shortage.cause)
        self.shortage = shortage


class RequestGate(Traffic, Protocol):
    """Lets the qualifier make a request, by the same clocks as every visit."""

    async def enter(self, host: HostName, address: str, *, own: bool) -> None:
        """Wait until host, domain and address may be asked. `own`: the host is the one being qualified, which the
        frontier keeps for the qualifier; another host (a redirect's) is waited for like any visit's. Raises GateShut
        when the crawl is stopped meanwhile, HostBlocked when the host is blocked."""

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
        """The request is over. Status 0 is no answer; `retry_after_s` is what the server asked us to wait."""


class HostDue(msgspec.Struct, frozen=True, gc=False):
    """A host is new, or its qualification or its addresses have run out."""

    host: HostName
    before: Qualification | None
    """The last qualification, without the text of robots.txt and without sitemaps; None for a new host."""
    addresses_only: bool
    """The qualification still holds: only new addresses are asked for."""
    without_robots: bool = False
    """The operator says that it may be visited although its robots.txt cannot be obtained."""


class QualificationSink(Protocol):
    """Takes what became of a host."""

    def qualified(self, host: HostName, found: Qualification) -> None:
        """The frontier takes note and begins to visit, wait or give up."""

    def refreshed(self, host: HostName, found: Qualification) -> None:
        """The addresses of a qualified host were asked for again, and nothing else. `found` has new ones, or is a
        disqualification because there are none. The text of robots.txt stays what it was."""

    def unqualified(self, host: HostName, shortage: Shortage | None = None) -> None:
        """Nothing was found out: it waits until it may be asked again. `shortage`: what this machine lacked."""
