"""The lines of the gate: hosts that wait for a pace to open, and the timers that call them."""

import heapq
from collections.abc import Callable
from itertools import count
from typing import Final

from whimbrel.frontier.pace import Pace

LINE: Final = 32
"""Hosts that wait in one line, in memory; more come again when it is their turn."""
_LEAST_S: Final = 0.001
"""A time to come again is at least so far away, whatever is lost in rounding."""


class Lines:
    """A waiter leaves a function in the line of a pace. It is called when the pace has room; it returns true when its
    host is on the way and has not entered yet, false when that is settled: entered, in another line, or gone."""

    def __init__(self) -> None:
        self._timers: list[tuple[float, int, Pace]] = []
        self._order = count()
        self._called: list[Pace] = []
        """Paces whose line was called and goes on: a host that was called may not have come."""

    def wait(self, pace: Pace, called: Callable[[], bool], now_s: float) -> float | None:
        """Take a place in the line of a pace that is closed: None. Where the time is known (a host's own pace) or the
        line is long, the answer is the time to come again. Turns behind a long line are as far apart as starts can be,
        so the line never runs dry, and a million hosts behind one address wait on disk."""
        if pace.gap_s == 0.0 and pace.free_s > now_s:
            return max(pace.free_s, now_s + _LEAST_S)
        if pace.line is None or len(pace.line) < LINE:
            self.queue(pace, called)
            return None
        pace.turn_s = max(pace.turn_s, pace.free_s, now_s) + pace.gap_s
        return pace.turn_s

    def queue(self, pace: Pace, called: Callable[[], bool]) -> None:
        """Take a place however long the line is."""
        pace.queue(called)
        self.arm(pace)

    def arm(self, pace: Pace) -> None:
        """See to it that the line of a pace moves when its time comes."""
        if pace.line and not pace.armed:
            pace.armed = True
            heapq.heappush(self._timers, (pace.free_s, next(self._order), pace))

    def rearm(self, pace: Pace) -> None:
        """The same, when the time for which it was armed no longer matters."""
        pace.armed = False
        self.arm(pace)

    def forget_timers(self) -> None:
        """All paces are armed anew after this."""
        self._timers.clear()

    def wake(self, now_s: float) -> None:
        if self._called:
            called, self._called = self._called, []
            for pace in called:
                self.arm(pace)
        while self._timers and self._timers[0][0] <= now_s:
            pace = heapq.heappop(self._timers)[2]
            pace.armed = False
            coming = 0
            while pace.line and pace.open(now_s) and (pace.cap == 0 or pace.in_flight + coming < pace.cap):
                coming += pace.line.popleft()()
            if coming and pace.line:
                self._called.append(pace)
            elif pace.free_s > now_s:
                self.arm(pace)  # Otherwise it is full, or a request is connecting: `left` and `sent` arm it.

    def next_s(self) -> float | None:
        """When `wake` has something to do next."""
        if self._called:
            return float("-inf")
        return self._timers[0][0] if self._timers else None
