"""Numbers that a part shows to whoever watches the job, declared beside its code and read when somebody asks."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

MetricKind = Literal["counter", "gauge", "histogram"]


@dataclass(frozen=True, slots=True)
class Histogram:
    """Counts of values up to each bound, not added up; the last count is of those beyond all bounds."""

    bounds: tuple[float, ...]
    counts: tuple[int, ...]
    sum: float


@dataclass(frozen=True, slots=True)
class Metric:
    """`read` gets the part. Where there is a `label`, it gives a number for each of its values."""

    name: str
    kind: MetricKind
    help: str
    read: Callable[[Any], float | Mapping[str, float] | Histogram]
    label: str = ""
