"""From when on a crawl can know that an address serves many domains."""

from collections.abc import Iterable, Sequence
from typing import Final

from whimbrel.bench.politeness.visit import LoggedVisit, Places
from whimbrel.simweb.host import SimHost
from whimbrel.simweb.web import Web, host_of

_MAX_HOSTS: Final = 100_000
"""Larger webs are not gone through as a whole: there an address is crowded if the log says so."""


class Knowledge:
    """Follows which names the crawl has met, in seeds and on the pages it was given, and where they are.

    A crawl may ask the name server about every name it has met, which no log shows. So an address counts as crowded
    from the visit on that brings the last name needed: nobody can know it earlier.
    """

    def __init__(
        self, web: Web, places: Places, domains: int, seeds: Iterable[str], seen: Iterable[LoggedVisit]
    ) -> None:
        """`domains`: an address with more is crowded. `seen` is the whole log."""
        self._web = web
        self._places = places
        self._domains = domains
        self._crowded: set[str] = set()
        self._met: dict[str, set[str]] = {address: set() for address in self._candidates(seen)}
        """For each address that will turn out to be crowded, the domains met so far."""
        for url in seeds:
            self._meet_url(url)

    def crowded(self, address: str) -> bool:
        return address in self._crowded

    def learn(self, visit: LoggedVisit) -> None:
        """Take note of the visit's own host, and of the links on the page that it brought."""
        host = visit.place.host
        if not self._met or host is None:
            return
        self._meet(host)
        if visit.qualifies:
            return
        number = self._web.page_number(host, visit.target)
        if number is not None:
            for to, _ in self._web.pages.get(host, number).outer:
                self._meet(self._web.hosts.get(to))
            return
        place = self._web.exhibit(host, visit.target)
        links: Sequence[str] = place[0].judge(place[1]).links if place else ()
        for url in links:
            self._meet_url(url)

    def _meet_url(self, url: str) -> None:
        host = self._web.hosts.find(host_of(url.split("/", 3)[2])) if "//" in url else None
        if host is not None:
            self._meet(host)

    def _meet(self, host: SimHost) -> None:
        for address in host.addresses:
            met = self._met.get(address)
            if met is not None:
                met.add(self._places.domain(host.name))
                if len(met) > self._domains:
                    self._crowded.add(address)
                    del self._met[address]

    def _candidates(self, seen: Iterable[LoggedVisit]) -> list[str]:
        """Addresses of more domains than the limit."""
        count = self._web.spec.hosts
        found: dict[str, set[str]] = {}
        known = map(self._web.hosts.get, range(count)) if count <= _MAX_HOSTS else _hosts(seen)
        for host in known:
            for address in host.addresses:
                found.setdefault(address, set()).add(self._places.domain(host.name))
        return [address for address, domains in found.items() if len(domains) > self._domains]


def _hosts(seen: Iterable[LoggedVisit]) -> Iterable[SimHost]:
    places = {visit.place.site: visit.place for visit in seen}
    return [place.host for place in places.values() if place.host is not None]
