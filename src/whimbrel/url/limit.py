"""Limits that are pure functions of a URL and its depth: they cut traps, and do not depend on chance."""

from collections.abc import Sequence
from itertools import groupby
from operator import eq

import msgspec

from whimbrel.url.value import Url


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """None lifts a limit. The reasons and their order are those of docs/outcomes.md.

    With `segments` lifted, `repeats` takes time quadratic in the segments of a path that has many equal ones.
    """

    length: int | None = 2048
    """Characters of the whole URL."""
    segments: int | None = 20
    """Path segments; empty ones do not count."""
    repeats: int | None = 2
    """How often a run of path segments may stand in a row."""
    hops: int | None = 20
    """From a seed, a redirect being none."""

    def __post_init__(self) -> None:
        if self.repeats is not None and self.repeats < 1:
            raise ValueError(f"limit `repeats` is {self.repeats}: it must be at least 1, or absent")

    def cut(self, url: Url, depth: int) -> str:
        """Why a URL is not to be visited; empty when it may."""
        if self.length is not None and len(url.text) > self.length:
            return "too-long"
        reason = self._cut_path(url.target)
        if reason:
            return reason
        return "too-many-hops" if self.hops is not None and depth > self.hops else ""

    def _cut_path(self, target: str) -> str:
        path = target.partition("?")[0]
        slashes = path.count("/")  # At least as many as segments.
        crowded = self.segments is not None and slashes > self.segments
        suspicious = self.repeats is not None and slashes > self.repeats and _equal(path) >= self.repeats
        if not crowded and not suspicious:
            return ""
        segments = [segment for segment in path.split("/") if segment]
        if self.segments is not None and len(segments) > self.segments:
            return "too-many-segments"
        if self.repeats is not None and _repeats(segments, self.repeats):
            return "repeating-segments"
        return ""


def query_group(url: Url) -> str | None:
    """URLs of one host and path that have the same query keys are one group; None without a query."""
    where, _, query = url.text.partition("?")
    if not query:
        return None
    if "&" not in query:
        return f"{where}?{query.partition('=')[0]}"
    return f"{where}?{'&'.join(sorted({part.partition('=')[0] for part in query.split('&')}))}"


def _equal(path: str) -> int:
    """How many segments have an equal one before them. A run that stands more than n times has a segment that does, so
    less than n here means that there is no such run."""
    segments = path.split("/")
    return len(segments) - len(set(segments))


def _repeats(segments: Sequence[str], most: int) -> bool:
    """Whether some run of segments stands more than `most` times in a row.

    A run of n segments does so where n * most segments in a row each equal the one n places before.
    """
    for run in range(1, len(segments) // (most + 1) + 1):
        same = map(eq, segments, segments[run:])
        if any(equal and sum(1 for _ in streak) >= run * most for equal, streak in groupby(same)):
            return True
    return False
