"""The crawl's own time: what everything on disk that is due, or runs out, is timed by."""

from typing import Final

import msgspec

from whimbrel.clock import Clock, ClockMark
from whimbrel.qualify.api import HostDue, Qualification

_LEAST_HOLD_S: Final = 2.0
_ROUNDED_S: Final = 0.001
"""Two clocks that differ by less tell the same time."""


class CrawlTime:
    """Seconds since 1970 by the clock that the crawl's first run began with. From then on they pass as time does: also
    between two runs, and whatever becomes of the machine's wall clock (`Clock.since_s`). They never go back.

    The qualifier and the tables have the wall clock's time, as the run that they belong to reads it.
    """

    def __init__(self, clock: Clock, last_s: float, last_mark: ClockMark | None) -> None:
        """`last_s` is the crawl's time when it was last written down, 0 for a new crawl, and `last_mark` that moment;
        None where an earlier version has written it."""
        self._clock = clock
        now_s, wall_s = clock.now_s(), clock.wall_s()
        began_s = wall_s
        if last_s:
            began_s = max(last_s, wall_s) if last_mark is None else last_s + clock.since_s(last_mark)
        if abs(began_s - wall_s) < _ROUNDED_S:
            began_s = wall_s
        self.ahead_s = began_s - now_s
        """What to add to a time of the monotonic clock."""
        self._ahead_of_wall_s = began_s - wall_s
        """Other than 0 when the wall clock was set between two runs."""

    def now_s(self) -> float:
        return self._clock.now_s() + self.ahead_s

    def on_wall_s(self, time_s: float) -> float:
        """What the wall clock of this run says at a time of the crawl."""
        return time_s - self._ahead_of_wall_s

    def in_own_time(self, found: Qualification) -> Qualification:
        """A qualification of which all times that are compared are the crawl's. None is over before `_LEAST_HOLD_S`:
        whatever the clocks say, a host is not asked for its robots.txt or looked up again and again."""
        least_s = self.now_s() + _LEAST_HOLD_S
        moved = _moved(found, self._ahead_of_wall_s)
        return msgspec.structs.replace(
            moved,
            until_s=max(moved.until_s, least_s),
            addresses_until_s=max(moved.addresses_until_s, least_s if found.addresses else 0.0),
        )

    def in_wall_time(self, due: HostDue) -> HostDue:
        """What the qualifier is asked, with times of its clock."""
        before = due.before
        if not self._ahead_of_wall_s or before is None:
            return due
        return msgspec.structs.replace(due, before=_moved(before, -self._ahead_of_wall_s))


def _moved(found: Qualification, by_s: float) -> Qualification:
    return msgspec.structs.replace(
        found,
        until_s=found.until_s + by_s,
        addresses_until_s=found.addresses_until_s + by_s,
        # 0 says that there never were good rules.
        good_robots_at_s=found.good_robots_at_s and found.good_robots_at_s + by_s,
    )
