"""Rules about one site: one request at a time, a pause after each, and what Retry-After asks for."""

from bisect import bisect_left
from collections.abc import Sequence
from typing import Final

import msgspec

from whimbrel.bench.politeness.etiquette import Etiquette, Tolerance, Violation
from whimbrel.bench.politeness.visit import LoggedVisit
from whimbrel.simweb.exhibit.status import RETRY_AFTER_S

_BEFORE: Final = float("-inf")


class OneInFlight:
    """`in-flight`: a site is never asked while it still answers."""

    def __init__(self, tolerance: Tolerance) -> None:
        self._tolerance_s = tolerance.clock_s
        self._busy: dict[str, LoggedVisit] = {}

    def see(self, visit: LoggedVisit, found: list[Violation]) -> None:
        site = visit.place.site
        before = self._busy.get(site)
        if before is not None and visit.start_s < before.end_s - self._tolerance_s:
            over_s = before.end_s - visit.start_s
            detail = f"{visit.target} began {over_s:.3f} s before {before.target} had ended"
            found.append(Violation("in-flight", site, visit.start_s, detail))
        if before is None or visit.end_s >= before.end_s:
            self._busy[site] = visit


class _Free(msgspec.Struct, gc=False):
    """The visit that decides when a site may be visited again, and how long to pause after it."""

    after: LoggedVisit | None = None
    pause_s: float = 0.0

    @property
    def at_s(self) -> float:
        return _BEFORE if self.after is None else self.after.end_s + self.pause_s


class HostDelay:
    """`host-delay`: the pause from the end of a visit to the start of the next on the same site, Crawl-delay included.

    It counts from pages, and holds for whatever comes next. After robots.txt other rules hold (`permission.py`).
    """

    def __init__(self, etiquette: Etiquette, tolerance: Tolerance) -> None:
        self._etiquette = etiquette
        self._tolerance_s = tolerance.clock_s
        self._free: dict[str, _Free] = {}

    def see(self, visit: LoggedVisit, found: list[Violation]) -> None:
        place = visit.place
        free = self._free.get(place.site)
        if free is None:
            free = self._free[place.site] = _Free()
        gap_s = visit.start_s - free.after.end_s if free.after is not None else 0.0
        # Who comes before the end breaks another rule.
        if free.after is not None and 0.0 <= gap_s < free.pause_s - self._tolerance_s:
            detail = f"{visit.target} came {gap_s:.3f} s after {free.after.target}, not {free.pause_s:.3f} s"
            found.append(Violation("host-delay", place.site, visit.start_s, detail))
        if not visit.qualifies:
            pause_s = pause_after(visit, self._etiquette)
            if visit.end_s + pause_s >= free.at_s:
                free.after, free.pause_s = visit, pause_s


def pause_after(visit: LoggedVisit, etiquette: Etiquette) -> float:
    """How long a site is to be left alone after a visit."""
    delay_s = etiquette.delay_s
    if delay_s is None:
        adapted_s = etiquette.delay_factor * (visit.end_s - visit.start_s)
        delay_s = min(max(adapted_s, etiquette.min_delay_s), etiquette.max_delay_s)
    variant = visit.place.variant
    asked_s = 0.0 if variant is None else min(variant.crawl_delay_s, etiquette.max_crawl_delay_s)
    return max(delay_s, asked_s)


class RetryAfter:
    """`retry-after`: a site that answered 429 or 503 with Retry-After is left alone for as long as it said.

    A crawl that was killed before it could make such an answer durable does not know it.
    """

    def __init__(self, etiquette: Etiquette, tolerance: Tolerance, kills: Sequence[float]) -> None:
        self._kills = sorted(kills)
        self._durable_s = tolerance.durable_s
        self._most_s = etiquette.max_retry_after_s
        self._tolerance_s = tolerance.clock_s
        self._until: dict[str, tuple[float, LoggedVisit]] = {}

    def see(self, visit: LoggedVisit, found: list[Violation]) -> None:
        site = visit.place.site
        until = self._until.get(site)
        if until is not None:
            if visit.start_s < until[0] - self._tolerance_s:
                early_s = until[0] - visit.start_s
                detail = f"{visit.target} came {early_s:.3f} s before the time that {until[1].target} asked for"
                found.append(Violation("retry-after", site, visit.start_s, detail))
            else:
                del self._until[site]
        at_s = retry_at(visit)
        if at_s is not None and not self._forgotten(visit.end_s):
            self._until[site] = (min(at_s, visit.end_s + self._most_s), visit)

    def _forgotten(self, end_s: float) -> bool:
        kill = bisect_left(self._kills, end_s)
        return kill < len(self._kills) and self._kills[kill] < end_s + self._durable_s


def retry_at(visit: LoggedVisit) -> float | None:
    """The time that the answer's Retry-After names; None when it has none."""
    if visit.status not in (429, 503):
        return None
    if visit.served.startswith("retry-date-"):
        # Dates have whole seconds, and simweb counts from when it had read the request.
        return float(int(visit.start_s + RETRY_AFTER_S))
    if visit.served.startswith("retry-seconds-") or visit.served == "recovers-retry-after":
        return visit.end_s + RETRY_AFTER_S
    return None
