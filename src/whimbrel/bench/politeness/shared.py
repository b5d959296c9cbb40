"""Rules about what sites share: the clock of a registered domain, the clock and the cap of an address."""

from heapq import heappop, heappush
from typing import Final

import msgspec

from whimbrel.bench.politeness.etiquette import Etiquette, Tolerance, Violation
from whimbrel.bench.politeness.knowledge import Knowledge
from whimbrel.bench.politeness.visit import LoggedVisit

_BEFORE: Final = float("-inf")


class _Clock(msgspec.Struct):
    """`ends` is a heap of the ends of what is in flight, the latest and the earliest that each can have; `over` has
    those of what is over, as long as they matter."""

    last_since_s: float = _BEFORE
    ends: list[tuple[float, float]] = msgspec.field(default_factory=list)
    over: list[tuple[float, float]] = msgspec.field(default_factory=list)

    def turn_to(self, now_s: float, pause_s: float) -> None:
        """Move to the end of the clock what is over."""
        self.over = [end for end in self.over if end[1] + pause_s > now_s]
        while self.ends and self.ends[0][0] <= now_s:
            self.over.append(heappop(self.ends))

    def begin(self, visit: LoggedVisit) -> None:
        self.last_since_s = visit.since_s
        heappush(self.ends, (visit.logged_end_s, visit.end_s))

    def in_flight(self, now_s: float, tolerance_s: float) -> int:
        return sum(end_s > now_s + tolerance_s for _, end_s in self.ends)


class _Pause(msgspec.Struct, frozen=True):
    """How far apart visits must be, and how exactly that can be seen."""

    pause_s: float
    from_end: bool
    tolerance: Tolerance
    overlapping: bool = False
    """Several may be in flight. A visit that the crawler let out before it knew of another's end is seen after it: that
    it was too early can only be said of one that was begun when the end, as late as it can have been, was known."""

    def early(self, clock: _Clock, visit: LoggedVisit) -> str:
        """What is wrong with a visit; empty when nothing is. Two starts may lie closer together in the log than they
        were, as the first can have been longer under way."""
        start_s, pause_s = visit.start_s, self.pause_s - self.tolerance.clock_s
        news_s = min(self.tolerance.news_s, self.pause_s / 2)
        for latest_s, earliest_s in clock.over if self.from_end else ():
            knew = not self.overlapping or visit.since_s - latest_s >= news_s
            if knew and start_s < earliest_s + pause_s:
                return f"{start_s - earliest_s:.3f} s after the end of another, not {self.pause_s:.3f} s"
        if start_s < clock.last_since_s + pause_s:
            return f"{start_s - clock.last_since_s:.3f} s after the start of another, not {self.pause_s:.3f} s"
        return ""


class DomainDelay:
    """`domain-delay`: the pause between visits to one registered domain."""

    def __init__(self, etiquette: Etiquette, tolerance: Tolerance) -> None:
        self._pause = _Pause(etiquette.domain_s, etiquette.counts_from == "end", tolerance)
        self._clocks: dict[str, _Clock] = {}

    def see(self, visit: LoggedVisit, found: list[Violation]) -> None:
        if self._pause.pause_s == 0:
            return
        domain = visit.place.domain
        clock = self._clocks.get(domain)
        if clock is None:
            clock = self._clocks[domain] = _Clock()
        clock.turn_to(visit.start_s, self._pause.pause_s)
        early = self._pause.early(clock, visit)
        if early:
            detail = f"{visit.place.site}{visit.target} came {early}"
            found.append(Violation("domain-delay", domain, visit.start_s, detail))
        clock.begin(visit)


class AddressLoad:
    """`ip-delay` and `ip-cap`; for an address of many domains, once that can be known, only `cdn-cap`."""

    def __init__(self, etiquette: Etiquette, tolerance: Tolerance, knowledge: Knowledge) -> None:
        self._etiquette = etiquette
        self._pause = _Pause(etiquette.ip_s, etiquette.counts_from == "end", tolerance, overlapping=True)
        self._tolerance_s = tolerance.clock_s
        self._knowledge = knowledge
        self._clocks: dict[str, _Clock] = {}

    def see(self, visit: LoggedVisit, found: list[Violation]) -> None:
        self._knowledge.learn(visit)
        address, now_s = visit.address, visit.start_s
        clock = self._clocks.get(address)
        if clock is None:
            clock = self._clocks[address] = _Clock()
        clock.turn_to(now_s, self._pause.pause_s)
        crowded = self._knowledge.crowded(address)
        cap = self._etiquette.cdn_cap if crowded else self._etiquette.ip_cap
        if cap and len(clock.ends) >= cap:
            others = clock.in_flight(now_s, self._tolerance_s)
            if others >= cap:
                detail = f"{visit.place.site}{visit.target} made {others + 1} in flight, more than {cap}"
                found.append(Violation("cdn-cap" if crowded else "ip-cap", address, now_s, detail))
        early = "" if crowded or self._pause.pause_s == 0 else self._pause.early(clock, visit)
        if early:
            detail = f"{visit.place.site}{visit.target} came {early}"
            found.append(Violation("ip-delay", address, now_s, detail))
        clock.begin(visit)
