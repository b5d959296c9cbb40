"""What a polite crawl promises, and what it looks like when it does not keep to it."""

from typing import Literal

import msgspec


class Etiquette(msgspec.Struct, frozen=True, kw_only=True):
    """The promises. The defaults are those of a crawl that downloads whole sites."""

    delay_s: float | None = None
    """From the end of a visit to the start of the next on the same site. None: `delay_factor` × the time that the visit
    took, kept between `min_delay_s` and `max_delay_s`."""
    delay_factor: float = 2.0
    min_delay_s: float = 1.0
    max_delay_s: float = 30.0
    max_crawl_delay_s: float = 300.0
    """Crawl-delay is honoured up to this; 0 ignores it."""
    max_retry_after_s: float = 86_400.0
    """Retry-After is honoured up to this; 0 ignores it."""

    domain_s: float = 1.0
    ip_s: float = 0.5
    counts_from: Literal["end", "start"] = "end"
    """Of the clocks of domain and address: a visit that is over counts from its end, or from its start. One that is in
    flight always counts from its start."""
    ip_cap: int = 4
    """Requests in flight at one address; 0 is no cap."""
    cdn_domains: int = 50
    """An address with more registered domains than this has no clock, only `cdn_cap`."""
    cdn_cap: int = 20

    qualify_pause_s: float = 2.0
    """Between two rounds of asking for one site's robots.txt."""
    first_page_s: float = 1.0
    """Between robots.txt and the first page."""
    tries: int = 3
    """How often one URL may be asked for."""
    rfc9309: bool = False
    """robots.txt with a status of 4xx other than 429 means no rules."""


def with_delay(delay_s: float) -> Etiquette:
    """What `--delay` promises: one clock for site, domain and address; 0 lifts the clocks and the caps."""
    if delay_s > 0:
        return Etiquette(delay_s=delay_s, domain_s=delay_s, ip_s=delay_s)
    return Etiquette(delay_s=0.0, domain_s=0.0, ip_s=0.0, ip_cap=0, cdn_cap=0, first_page_s=0.0)


class Tolerance(msgspec.Struct, frozen=True, kw_only=True):
    """How far the server's times may be from what happened."""

    clock_s: float = 0.005
    """Between an event and its time in the log."""
    news_s: float = 0.1
    """Between the end of an answer and the moment at which the client knows of it."""
    abort_s: float = 0.25
    """Between the moment at which a client gives up and that at which the server sees it."""
    durable_s: float = 1.5
    """Between an answer and the commit that holds it, a second at most, and half a second until a kill is noted: a kill
    in between makes the crawl forget the answer."""


class Violation(msgspec.Struct, frozen=True, gc=False):
    """A promise that was not kept. `subject` is the site, domain, address or URL; `at_s` is in seconds since 1970."""

    rule: str
    subject: str
    at_s: float
    detail: str
