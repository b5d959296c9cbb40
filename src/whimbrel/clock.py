"""Time as a provider, so that a test can run a week of crawling in a second."""

import time
from typing import Final, Protocol

from whimbrel.flow import Config, Provider


class Clock(Protocol):
    def now_s(self) -> float:
        """Seconds on a clock that never goes back; only differences mean something."""

    def wall_s(self) -> float:
        """Seconds since 1970, for records and for times that outlive the process. Within a run it goes as `now_s`
        does."""


class SystemClock(Provider):
    """The wall clock is read once, when a run begins; from then on its time passes as the monotonic clock's does. So
    both tell the same story, and somebody who sets the machine's clock changes nothing in a crawl that runs.

    Where the system has it, that clock also goes on while the machine sleeps.
    """

    def __init__(self, config: Config | None = None) -> None:
        super().__init__(config)
        self._ahead_s = time.time() - _now_s()

    def now_s(self) -> float:
        return _now_s()

    def wall_s(self) -> float:
        return _now_s() + self._ahead_s


def _now_s() -> float:
    return time.clock_gettime(_SINCE_BOOT) if _SINCE_BOOT is not None else time.monotonic()


_SINCE_BOOT: Final[int | None] = getattr(time, "CLOCK_BOOTTIME", None)
