"""Rules about one URL: not too often, not at once again, and not again once it was got."""

from bisect import bisect_right
from collections.abc import Sequence

import msgspec

from whimbrel.bench.politeness.etiquette import Etiquette, Tolerance, Violation
from whimbrel.bench.politeness.site import pause_after
from whimbrel.bench.politeness.visit import CUT, LoggedVisit


class _UrlHistory(msgspec.Struct, gc=False):
    """What is known of a URL. The kills are those before its first visit, and before the last that brought it."""

    count: int
    first_kills: int
    got_kills: int = -1
    """-1: it was not got yet."""
    free_s: float = 0.0
    """When the site may be visited again after the URL's last visit."""


class RepeatRule:
    """`tries`: at most so many requests for one URL. `repeat`: not twice within the pause between any two visits.
    `again`: not once more after a whole 2xx.

    A crawl that was killed may have lost what it had not yet committed: each kill allows one more request for a URL.
    The pause holds all the same.
    """

    def __init__(self, etiquette: Etiquette, tolerance: Tolerance, kills: Sequence[float]) -> None:
        self._etiquette = etiquette
        self._tolerance_s = tolerance.clock_s
        self._kills = sorted(kills)
        self._sites: dict[str, dict[str, _UrlHistory]] = {}

    def see(self, visit: LoggedVisit, found: list[Violation]) -> None:
        if visit.qualifies:
            return
        kills = bisect_right(self._kills, visit.start_s) if self._kills else 0
        site = self._sites.get(visit.place.site)
        if site is None:
            site = self._sites[visit.place.site] = {}
        tried = site.get(visit.target)
        if tried is None:
            tried = site[visit.target] = _UrlHistory(1, kills)
        else:
            tried.count += 1
            self._check(visit, tried, kills, found)
        tried.free_s = visit.end_s + pause_after(visit, self._etiquette)
        if 200 <= visit.status < 300 and visit.served not in CUT:
            # A kill between its start and its end counts: the crawl cannot have kept what it had not read.
            tried.got_kills = kills

    def _check(self, visit: LoggedVisit, tried: _UrlHistory, kills: int, found: list[Violation]) -> None:
        url, at_s = f"{visit.place.site}{visit.target}", visit.start_s
        allowed = self._etiquette.tries + kills - tried.first_kills
        if tried.count > allowed:
            found.append(Violation("tries", url, at_s, f"request number {tried.count}, more than {allowed}"))
        if at_s < tried.free_s - self._tolerance_s:
            detail = f"asked for again {tried.free_s - at_s:.3f} s before its site might be visited"
            found.append(Violation("repeat", url, at_s, detail))
        if kills == tried.got_kills:
            found.append(Violation("again", url, at_s, "asked for again after it was got"))
