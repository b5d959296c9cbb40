"""The virtual clock: stands still until it is moved, or follows real time when asked to."""

import time


class VirtualClock:
    """Seconds since 1970 as the simulated web sees them."""

    def __init__(self, start_s: float, *, running: bool = False) -> None:
        self._start_s = start_s
        self._began = time.monotonic() if running else None

    def now_s(self) -> float:
        return self._start_s if self._began is None else self._start_s + time.monotonic() - self._began

    def advance(self, seconds: float) -> None:
        if seconds < 0:
            raise ValueError("the clock only moves forward")
        self._start_s += seconds
