"""Rules about robots.txt: ask first, ask gently, wait a little, and then do what it says."""

from typing import Final

import msgspec

from whimbrel.bench.politeness.etiquette import Etiquette, Tolerance, Violation
from whimbrel.bench.politeness.site import pause_after
from whimbrel.bench.politeness.visit import LoggedVisit

_NEVER: Final = float("inf")
_BEFORE: Final = float("-inf")


class DisallowRule:
    """`robots`: nothing that a site's robots.txt forbids, and nothing at all where it could not be obtained."""

    def __init__(self, etiquette: Etiquette) -> None:
        self._rfc9309 = etiquette.rfc9309

    def see(self, visit: LoggedVisit, found: list[Violation]) -> None:
        variant = visit.place.variant
        if visit.qualifies or variant is None:
            return
        if not variant.admits(rfc9309=self._rfc9309):
            why = "its robots.txt cannot be obtained"
        elif variant.denies(visit.target):
            why = "its robots.txt forbids it"
        else:
            return
        detail = f"{visit.target} was asked for, but {why} ({variant.name})"
        found.append(Violation("robots", visit.place.site, visit.start_s, detail))


class _RobotsHistory(msgspec.Struct):
    """What a site's log says of its robots.txt. `round` holds the addresses asked since the last pause."""

    answered_s: float = _NEVER
    """When an answer first allowed pages to be visited."""
    last_end_s: float = _BEFORE
    last_status: int = 0
    fresh: bool = False
    """No page has been visited since."""
    round: set[str] = msgspec.field(default_factory=set)


class QualificationRule:
    """Three rules about asking for robots.txt.

    `unqualified`: no page before it was answered. `first-page`: the page after it waits. `qualify-pause`: who asks
    again waits too; going on to another address of the site, or following a redirect, is no asking again.
    """

    def __init__(self, etiquette: Etiquette, tolerance: Tolerance) -> None:
        self._etiquette = etiquette
        self._tolerance_s = tolerance.clock_s
        self._sites: dict[str, _RobotsHistory] = {}

    def see(self, visit: LoggedVisit, found: list[Violation]) -> None:
        site = visit.place.site
        asked = self._sites.get(site)
        if asked is None:
            asked = self._sites[site] = _RobotsHistory()
        if visit.qualifies:
            self._see_robots(visit, asked, found)
        else:
            self._see_page(visit, asked, found)

    def _see_page(self, visit: LoggedVisit, asked: _RobotsHistory, found: list[Violation]) -> None:
        if visit.start_s < asked.answered_s - self._tolerance_s:
            detail = f"{visit.target} was asked for before robots.txt was answered"
            found.append(Violation("unqualified", visit.place.site, visit.start_s, detail))
            return
        wait_s = self._etiquette.first_page_s
        if visit.place.hop:
            # It may have been asked for on behalf of another host: that is a visit, and the site's own clock holds.
            wait_s = min(wait_s, pause_after(visit, self._etiquette))
        gap_s = visit.start_s - asked.last_end_s
        fresh, asked.fresh = asked.fresh, False
        if fresh and gap_s < wait_s - self._tolerance_s:
            detail = f"{visit.target} came {gap_s:.3f} s after robots.txt, not {wait_s:.3f} s"
            found.append(Violation("first-page", visit.place.site, visit.start_s, detail))

    def _see_robots(self, visit: LoggedVisit, asked: _RobotsHistory, found: list[Violation]) -> None:
        follows = 300 <= asked.last_status < 400
        if visit.address in asked.round and not follows and visit.target == "/robots.txt":
            gap_s = visit.start_s - asked.last_end_s
            if gap_s < self._etiquette.qualify_pause_s - self._tolerance_s and not visit.place.hop:
                wanted_s = self._etiquette.qualify_pause_s
                detail = f"robots.txt was asked for again after {gap_s:.3f} s, not {wanted_s:.3f} s"
                found.append(Violation("qualify-pause", visit.place.site, visit.start_s, detail))
            asked.round.clear()
        asked.round.add(visit.address)
        asked.last_status = visit.status
        asked.fresh = True
        asked.last_end_s = max(asked.last_end_s, visit.end_s)
        if self._answers(visit):
            asked.answered_s = min(asked.answered_s, visit.end_s)

    def _answers(self, visit: LoggedVisit) -> bool:
        """Whether pages may be visited after this answer."""
        status, variant = visit.status, visit.place.variant
        if 300 <= status < 400:
            # The answer is on another host's account; on the same host it follows as a request of its own.
            return variant is not None and variant.name == "redirect-host"
        if self._etiquette.rfc9309 and 400 <= status < 500:
            return status != 429
        return 200 <= status < 300 or status in (400, 404, 410)
