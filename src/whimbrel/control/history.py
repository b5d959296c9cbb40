"""The last day of a crawl as numbers over time, in little memory: fine for the last minutes, coarser further back."""

from collections import deque
from typing import Final

import msgspec

from whimbrel.job.progress import Progress

_LEVELS: Final = ((1, 900), (10, 1_080), (60, 1_440))
"""Samples of so many seconds, and how many of them are kept: a quarter of an hour, three hours, a day."""


class Sample(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """One moment. Counts are totals of the crawl so far; what lies between two samples is their difference."""

    at_s: float
    """Seconds since this run began."""
    visited: int
    """Visits made."""
    bytes: int
    """Received, of bodies."""
    queued: int
    """URLs that wait."""
    visiting: int
    """Under way."""
    hosts: int
    """Known so far."""
    stored: int
    """Pages in the archive."""
    duplicate: int
    """Pages that another URL had brought."""
    redirected: int
    """Visits that led on."""
    failed: int
    """Visits without a usable answer."""
    other: int
    """Other outcomes: gone, denied, dropped, unchanged, and tries that are made again."""
    ok: int
    """Answers with a status of 2xx; the next ones likewise."""
    moved: int
    """3xx."""
    client_errors: int
    """4xx."""
    server_errors: int
    """5xx."""
    p50_ms: float
    """Of the visits since the last sample: half were faster."""
    p95_ms: float
    """95 of 100 were faster."""


class History:
    """About 3,400 samples of 200 bytes, whatever the crawl's size."""

    def __init__(self) -> None:
        self._levels = [deque[Sample](maxlen=most) for _, most in _LEVELS]
        self._count = 0

    def add(self, progress: Progress, latency_ms: tuple[float, float]) -> None:
        """To be called once a second."""
        sample = _sample(progress, latency_ms)
        for (every, _), kept in zip(_LEVELS, self._levels, strict=True):
            if self._count % every == 0:
                kept.append(sample)
        self._count += 1

    def samples(self, most: int = 1_000) -> list[Sample]:
        """From the oldest to the newest, at most so many: fine samples where there are any, coarse ones before them."""
        found: list[Sample] = []
        for kept in reversed(self._levels):
            first = kept[0].at_s if kept else float("inf")
            found = [sample for sample in found if sample.at_s < first] + list(kept)
        step = max(1, -(-len(found) // most))
        return found[(len(found) - 1) % step :: step] if found else []


def _sample(progress: Progress, latency_ms: tuple[float, float]) -> Sample:
    outcomes, statuses = progress.outcomes, progress.statuses
    named = [outcomes.get(name, 0) for name in ("stored", "duplicate", "redirected", "failed")]
    classes = [0] * 6
    for status, count in statuses.items():
        classes[min(int(status) // 100, 5)] += count
    stored, duplicate, redirected, failed = named
    return Sample(
        at_s=round(progress.elapsed_s, 3),
        visited=progress.visited,
        bytes=progress.bytes,
        queued=progress.queued,
        visiting=progress.visiting,
        hosts=progress.hosts,
        stored=stored,
        duplicate=duplicate,
        redirected=redirected,
        failed=failed,
        other=sum(outcomes.values()) - sum(named),
        ok=classes[2],
        moved=classes[3],
        client_errors=classes[4],
        server_errors=classes[5],
        p50_ms=latency_ms[0],
        p95_ms=latency_ms[1],
    )
