"""The lines of a robots.txt, and which of them are about us (RFC 9309 §2.2).

Only the rules for one agent are kept: a file may have 20,000 agents with 16,000 rules in one group.
"""

import math
import re
from collections.abc import Iterator
from typing import Final

import msgspec

_TOKEN: Final = re.compile(r"[^\s/;,()*]+")
_DISALLOW: Final = ("disallow", "dissallow", "dissalow", "disalow", "diasllow", "disallaw")
_FIELDS: Final = {
    "user-agent": "user-agent",
    "useragent": "user-agent",
    "user agent": "user-agent",
    "allow": "allow",
    **dict.fromkeys(_DISALLOW, "disallow"),
    "crawl-delay": "crawl-delay",
    "crawl delay": "crawl-delay",
    "sitemap": "sitemap",
    "sitemaps": "sitemap",
    "site-map": "sitemap",
}
"""Spellings that people use. Being generous with Disallow is being polite."""
_MAX_SITEMAPS: Final = 1_000
_MAX_SITEMAP_LENGTH: Final = 2_048


class Records(msgspec.Struct, frozen=True, gc=False):
    """What a robots.txt says to one agent."""

    rules: tuple[tuple[bool, str], ...]
    """(it allows, the pattern), each once, in the order found. Rules without a pattern are left out."""
    crawl_delay_s: float
    """The longest that is asked for; 0 when none is."""
    sitemaps: tuple[str, ...]
    """As written. They belong to no group."""
    readable: bool
    """Some line is a record, whomever it is for; or there is no line at all."""


class _Group:
    """The rules for an agent, of all its groups together."""

    def __init__(self) -> None:
        self.found = False
        self.rules: dict[tuple[bool, str], None] = {}
        self.crawl_delay_s = 0.0


def product_token(agent: str) -> str:
    """`whimbrel` of `Whimbrel/1.0 (+https://…)`; `*` when there is nothing of the kind."""
    token = _TOKEN.match(agent.strip())
    return token[0].lower() if token else "*"


def read_records(text: str, agent: str) -> Records:
    """`agent` is a user agent or its product token."""
    ours = product_token(agent)
    groups = {ours: _Group(), "*": _Group()}
    sitemaps: dict[str, None] = {}
    current: set[_Group] = set()  # Two at most, however often they are named.
    naming = False  # The line before was a User-agent line, as far as lines count.
    readable = not text.strip()
    for field, value in _lines(text):
        readable = True
        if field == "sitemap":
            if value and len(value) <= _MAX_SITEMAP_LENGTH and len(sitemaps) < _MAX_SITEMAPS:
                sitemaps[value] = None
        elif field == "user-agent":
            current = current if naming else set()
            naming = True
            group = groups.get(product_token(value)) if value else None
            if group is not None:
                group.found = True
                current.add(group)
        elif field == "crawl-delay":
            # No word of the standard, so it ends no list of agents (§2.2.4).
            for group in current:
                group.crawl_delay_s = max(group.crawl_delay_s, _seconds(value))
        else:
            naming = False
            if value:
                for group in current:
                    group.rules[field == "allow", value] = None
    chosen = groups[ours] if groups[ours].found else groups["*"]
    return Records(tuple(chosen.rules), chosen.crawl_delay_s, tuple(sitemaps), readable)


def _lines(text: str) -> Iterator[tuple[str, str]]:
    """Field and value of each line that is a record. Lines end with CR, LF or both, and with nothing else."""
    for line in text.removeprefix("\ufeff").replace("\r", "\n").split("\n"):
        record = line.partition("#")[0]
        name, colon, value = record.partition(":")
        field = _FIELDS.get(name.strip().lower()) if len(name) < 64 else None
        if field is None:
            # `Disallow /private/`, or `Sitemap https://…`, where the colon belongs to the value.
            name, _, value = record.strip().partition(" ")
            field = _FIELDS.get(name.lower()) if not colon or "://" in record else None
        if field is not None:
            yield field, value.strip()


def _seconds(value: str) -> float:
    try:
        delay_s = float(value)
    except ValueError:
        return 0.0
    return delay_s if math.isfinite(delay_s) and delay_s > 0 else 0.0
