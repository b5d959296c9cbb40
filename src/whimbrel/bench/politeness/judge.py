"""The judge: all rules over a whole log."""

from collections.abc import Iterable, Sequence
from typing import Final

from whimbrel.bench.politeness.etiquette import Etiquette, Tolerance, Violation
from whimbrel.bench.politeness.knowledge import Knowledge
from whimbrel.bench.politeness.permission import DisallowRule, QualificationRule
from whimbrel.bench.politeness.repeat import RepeatRule
from whimbrel.bench.politeness.shared import AddressLoad, DomainDelay
from whimbrel.bench.politeness.site import HostDelay, OneInFlight, RetryAfter
from whimbrel.bench.politeness.visit import Places, PolitenessRule, visits
from whimbrel.simweb.server.log import LoggedExchange
from whimbrel.simweb.web import Web

RULES: Final = (
    *("in-flight", "host-delay", "retry-after", "domain-delay", "ip-delay", "ip-cap", "cdn-cap"),
    *("robots", "unqualified", "first-page", "qualify-pause", "tries", "repeat", "again"),
)
"""Every rule that a violation can name."""


def judge(
    exchanges: Iterable[LoggedExchange],
    web: Web,
    etiquette: Etiquette,
    *,
    seeds: Sequence[str] = (),
    kills: Sequence[float] = (),
    tolerance: Tolerance | None = None,
) -> list[Violation]:
    """Every violation in an access log, in the order of time.

    `web` is the web that was served, with its ports. `seeds` are the URLs that the crawl began with. `kills` are the
    times, in seconds since 1970, at which the crawl was killed and later resumed: after each a URL may be asked for
    once more, but every clock goes on.
    """
    tolerance = tolerance or Tolerance()
    places = Places(web)
    seen = list(visits(exchanges, places, tolerance))
    knowledge = Knowledge(web, places, etiquette.cdn_domains, seeds, seen)
    rules: tuple[PolitenessRule, ...] = (
        OneInFlight(tolerance),
        HostDelay(etiquette, tolerance),
        RetryAfter(etiquette, tolerance, kills),
        DomainDelay(etiquette, tolerance),
        AddressLoad(etiquette, tolerance, knowledge),
        DisallowRule(etiquette),
        QualificationRule(etiquette, tolerance),
        RepeatRule(etiquette, tolerance, kills),
    )
    found: list[Violation] = []
    looks = [rule.see for rule in rules]
    for visit in seen:
        for look in looks:
            look(visit, found)
    return found


def busiest(exchanges: Iterable[LoggedExchange]) -> dict[str, int]:
    """For each address, the most requests that were in flight at once."""
    events: list[tuple[float, int, str]] = []
    for e in exchanges:
        address = e.server.rpartition(":")[0]
        # At one moment, ends come before starts.
        events += ((e.start, 1, address), (max(e.start, e.end), -1, address))
    events.sort()
    now: dict[str, int] = {}
    most: dict[str, int] = {}
    for _, change, address in events:
        now[address] = count = now.get(address, 0) + change
        if count > most.get(address, 0):
            most[address] = count
    return most
