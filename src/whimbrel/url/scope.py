"""What a crawl is about: which URLs count as part of it, given its seeds."""

from collections.abc import Iterator, Sequence
from typing import Literal

import msgspec

from whimbrel.url.domain import Domains
from whimbrel.url.value import Url

Kind = Literal["page", "prefix", "host", "domain", "any"]


class Scope(msgspec.Struct, frozen=True):
    """A value. `held` has one entry for each seed, by kind:

    page: its text. prefix: its site and directory. host: its site. domain: its registered domain. any: nothing.

    A *site* here is a host with its twins: http and https at their default ports, with and without `www.`, are one. Any
    other port must be equal.
    """

    kind: Kind
    held: frozenset[str]
    domains: Domains

    @classmethod
    def of(cls, kind: Kind, seeds: Sequence[Url], domains: Domains) -> "Scope":
        empty = cls(kind, frozenset(), domains)
        return cls(kind, frozenset(empty._entry(seed) for seed in seeds), domains)

    def holds(self, url: Url) -> bool:
        match self.kind:
            case "any":
                return True
            case "prefix":
                return any(place in self.held for place in _directories(url))
            case _:
                return self._entry(url) in self.held

    def extended(self, url: Url) -> "Scope":
        """With the target of a seed's redirect, as if it had been a seed."""
        entry = self._entry(url)
        return self if entry in self.held else Scope(self.kind, self.held | {entry}, self.domains)

    def _entry(self, url: Url) -> str:
        match self.kind:
            case "any":
                return ""
            case "page":
                return url.text
            case "prefix":
                path = url.target.partition("?")[0]
                return _site(url) + path[: path.rindex("/") + 1]
            case "host":
                return _site(url)
            case "domain":
                return self.domains.registered(url.host)


def _site(url: Url) -> str:
    host = url.host.removeprefix("www.")
    return host if url.at_default_port else f"{host}:{url.port}"


def _directories(url: Url) -> Iterator[str]:
    """The site's root and each directory on the way to the page."""
    site, path = _site(url), url.target.partition("?")[0]
    at = 0
    while at >= 0:
        yield site + path[: at + 1]
        at = path.find("/", at + 1)
