"""How long visits take, counted in classes: cheap enough for every page."""

from bisect import bisect_left
from typing import Final

from whimbrel.flow import Histogram

BOUNDS_S: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
"""The upper ends of the classes; the last class has none."""


class Latency:
    def __init__(self) -> None:
        self.counts = [0] * (len(BOUNDS_S) + 1)
        self.sum_s = 0.0
        self._before = list(self.counts)

    def add(self, elapsed_s: float) -> None:
        self.counts[bisect_left(BOUNDS_S, elapsed_s)] += 1
        self.sum_s += elapsed_s

    def read(self) -> Histogram:
        return Histogram(BOUNDS_S, tuple(self.counts), self.sum_s)

    def take(self) -> tuple[float, float]:
        """The median and the 95th percentile of what came since the last time, in milliseconds; 0 for nothing."""
        counts = [now - before for now, before in zip(self.counts, self._before, strict=True)]
        self._before = list(self.counts)
        return _quantile_ms(counts, 0.5), _quantile_ms(counts, 0.95)


def _quantile_ms(counts: list[int], share: float) -> float:
    """Within a class visits are taken to be spread evenly."""
    wanted, below = share * sum(counts), 0
    for at, count in enumerate(counts):
        if count and below + count >= wanted:
            low = BOUNDS_S[at - 1] if at else 0.0
            high = BOUNDS_S[at] if at < len(BOUNDS_S) else 2 * low
            return round(1_000 * (low + (high - low) * (wanted - below) / count), 2)
        below += count
    return 0.0
