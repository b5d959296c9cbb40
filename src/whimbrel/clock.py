"""Time as a provider, so that a test can run a week of crawling in a second."""

import time
from pathlib import Path
from typing import Final, Protocol

import msgspec

from whimbrel.flow import Config, Provider


class ClockMark(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A moment, kept so that a later process can tell how long ago it was."""

    boot: str
    """Which start of the machine it belongs to; empty when the system does not say."""
    now_s: float
    """The monotonic clock, which begins anew with each start of the machine."""
    machine_wall_s: float
    """What the machine's wall clock said at that moment, also when it was set after the run began."""


class Clock(Protocol):
    def now_s(self) -> float:
        """Seconds on a clock that never goes back; only differences mean something."""

    def wall_s(self) -> float:
        """Seconds since 1970, for records. Within a run it goes as `now_s` does."""

    def mark(self) -> ClockMark:
        """This moment, for a later run."""

    def since_s(self, mark: ClockMark) -> float:
        """Seconds from a moment of this run or an earlier one until now; never less than 0. Within one start of the
        machine they are right whatever happened to its wall clock. Beyond that only the wall clock can tell: if it was
        set back meanwhile, no time has passed."""


class SystemClock(Provider):
    """The wall clock is read once, when a run begins; from then on its time passes as the monotonic clock's does. So
    both tell the same story, and somebody who sets the machine's clock changes nothing in a crawl that runs.

    Where the system has it, that clock also goes on while the machine sleeps.
    """

    def __init__(self, config: Config | None = None) -> None:
        super().__init__(config)
        self._ahead_s = time.time() - _now_s()
        self._boot = _boot_id()

    def now_s(self) -> float:
        return _now_s()

    def wall_s(self) -> float:
        return _now_s() + self._ahead_s

    def mark(self) -> ClockMark:
        return ClockMark(self._boot, _now_s(), time.time())

    def since_s(self, mark: ClockMark) -> float:
        same_boot = self._boot and mark.boot == self._boot
        return max(0.0, _now_s() - mark.now_s if same_boot else time.time() - mark.machine_wall_s)


def _now_s() -> float:
    return time.clock_gettime(_SINCE_BOOT) if _SINCE_BOOT is not None else time.monotonic()


def _boot_id() -> str:
    """Empty where the monotonic clock does not count from the start of the machine, or the system does not say which
    start that was."""
    if _SINCE_BOOT is None:
        return ""
    try:
        return _BOOT_ID.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return ""


_SINCE_BOOT: Final[int | None] = getattr(time, "CLOCK_BOOTTIME", None)
_BOOT_ID: Final = Path("/proc/sys/kernel/random/boot_id")
