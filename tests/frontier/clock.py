"""A clock that stands still until it is told to go on: weeks pass in a second."""

import math

from whimbrel.clock import ClockMark
from whimbrel.flow import Provider


class VirtualClock(Provider):
    """Whole milliseconds. After a restart the monotonic time begins anew, the wall's goes on."""

    def __init__(self, wall_ms: int = 1_700_000_000_000, now_ms: int = 5_000) -> None:
        super().__init__()
        self._now_ms = now_ms
        self._wall_ms = wall_ms

    def now_s(self) -> float:
        return self._now_ms / 1000

    def wall_s(self) -> float:
        return self._wall_ms / 1000

    def mark(self) -> ClockMark:
        return ClockMark("", self.now_s(), self.wall_s())

    def since_s(self, mark: ClockMark) -> float:
        return max(0.0, self.wall_s() - mark.machine_wall_s)

    @property
    def wall_ms(self) -> int:
        return self._wall_ms

    def advance(self, seconds: float) -> None:
        """At least so long, and up to a millisecond longer."""
        passed_ms = max(0, math.ceil(seconds * 1000 - 1e-6))
        self._now_ms += passed_ms
        self._wall_ms += passed_ms
