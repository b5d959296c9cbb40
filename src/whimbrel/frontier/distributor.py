"""Takes links in: what is in scope and new goes to the frontier, the rest is counted by reason."""

from collections import Counter
from typing import Literal

from whimbrel.flow import Config, In, Needs, Sync
from whimbrel.frontier.api import Discovered, Frontier, UrlSeen
from whimbrel.url import parse


class DistributorConfig(Config, frozen=True):
    seeds: tuple[str, ...] = ()
    """URLs to begin with."""
    scope: Literal["host", "any"] = "host"
    """`host` keeps to the hosts of the seeds."""
    max_depth: int = 20
    """Hops from a seed."""
    max_length: int = 2048
    """Characters of a URL."""


class Distributor(Sync):
    Config = DistributorConfig
    links = In(Discovered)
    seen = Needs(UrlSeen)
    frontier = Needs(Frontier)

    def __init__(self, config: DistributorConfig) -> None:
        super().__init__(config)
        self.refused: Counter[str] = Counter()
        self._hosts: set[str] = set()

    async def open(self) -> None:
        for text in self.config.seeds:
            url = parse(text)
            if url is None:
                raise ValueError(f"the seed {text!r} is not an http or https URL")
            self.process(Discovered(url, 0))

    def process(self, found: Discovered) -> None:
        if not found.source:
            self._hosts.add(found.url.host)
        reason = self._refusal(found)
        if reason:
            self.refused[reason] += 1
        else:
            self.frontier.add(found)

    def _refusal(self, found: Discovered) -> str:
        """Why a link is not queued; empty when it is. URL-seen is asked last: it remembers what it is asked."""
        if self.config.scope == "host" and found.url.host not in self._hosts:
            return "out-of-scope"
        if len(found.url.text) > self.config.max_length:
            return "too-long"
        if found.depth > self.config.max_depth:
            return "too-many-hops"
        return "" if self.seen.add(found.url) else "seen"
