"""Time as a provider, so that a test can run a week of crawling in a second."""

import time
from typing import Protocol

from whimbrel.flow import Provider


class Clock(Protocol):
    def now_s(self) -> float:
        """Seconds on a clock that never goes back; only differences mean something."""

    def wall_s(self) -> float:
        """Seconds since 1970, for records."""


class SystemClock(Provider):
    def now_s(self) -> float:
        return time.monotonic()

    def wall_s(self) -> float:
        return time.time()
