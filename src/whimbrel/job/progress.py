"""The crawl at one moment, what it is bound by, and when it may end."""

import time
from collections import deque
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from whimbrel.commit.committed import Committed
from whimbrel.commit.counters import Counters
from whimbrel.commit.journal import Journal
from whimbrel.frontier.api import Frontier
from whimbrel.job.bound import BoundCode, bound_of
from whimbrel.job.options import CrawlOptions
from whimbrel.job.time_left import Throughput, time_left

_WINDOW_S: Final = 10.0
HANDLED_WELL: Final = ("ok", "filter-error")
"""How it went where handlers themselves did not fail."""


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """The numbers of a running crawl."""

    elapsed_s: float = 0.0
    """Since this run began."""
    visited: int = 0
    """Visits made, of earlier runs too."""
    pages_per_s: float = 0.0
    """Over the last seconds."""
    queued: int = 0
    """URLs that wait."""
    visiting: int = 0
    """Under way."""
    qualifying: int = 0
    """Hosts whose address and robots.txt are being asked for."""
    hosts: int = 0
    """Known so far."""
    bytes: int = 0
    """Received, of bodies."""
    outcomes: dict[str, int] = {}
    """Counts of each outcome."""
    reasons: dict[str, int] = {}
    """Counts of `outcome reason`."""
    statuses: dict[str, int] = {}
    """Counts of each HTTP status."""
    refused: dict[str, int] = {}
    """Links that were not followed, by reason."""
    handled: dict[str, int] = {}
    """Pages that handlers looked at, by how it went: `ok`, `error`, `timeout`, `died`, or `filter-error` where only a
    filter failed; of earlier runs too."""
    cpu_share: float = 0.0
    """CPU time of the process over the last seconds, in processors."""
    bound_by: str = ""
    """What keeps the crawl from being faster, in words."""
    bound: BoundCode = ""
    """The same for programs: `closed` (for every reason that `bound_by` names), `commit`, `page-limit`, `speed-limit`,
    `processor`, `connections`, `names`, `retry` or `politeness`."""
    left_s: float | None = None
    """A guess at the time until the crawl ends; None when nobody can tell."""
    left_by: str = ""
    """The limit that will end it then, as the option that sets it; empty when the queue will be empty, at the
    earliest."""
    trouble: str = ""
    """What holds the crawl up: a full disk, for example."""
    lacks: str = ""
    """What this machine lacks then: `disk`, `directory`, `open-files`, `memory`, `certificates`, or
    `software` for a fault of our own."""
    queues: dict[str, int] = {}
    """Items in each connector."""

    @property
    def handlers_failed(self) -> int:
        """Pages on which handlers failed."""
        return failed_pages(self.handled)


def failed_pages(handled: Mapping[str, int]) -> int:
    """Of pages that handlers looked at, by how it went, those on which handlers failed."""
    return sum(count for outcome, count in handled.items() if outcome not in HANDLED_WELL)


class ProgressMeter:
    """Measures a running crawl; it remembers the last seconds, for rates."""

    def __init__(self) -> None:
        self._began_s = time.monotonic()
        self._history: deque[tuple[float, int, int, float]] = deque()
        """Time, visits, bytes, and CPU time of the process."""

    def measure(
        self, frontier: Frontier, journal: Journal, queues: Mapping[str, int], options: CrawlOptions
    ) -> Progress:
        now_s = time.monotonic()
        counters, shortage = journal.counters, journal.shortage
        visited = counters.visits
        self._history.append((now_s, visited, counters.bytes, time.process_time()))
        while now_s - self._history[0][0] > _WINDOW_S:
            self._history.popleft()
        since_s, before, bytes_before, cpu_s = self._history[0]
        passed_s = (now_s - since_s) or float("inf")
        speed = Throughput((visited - before) / passed_s, (counters.bytes - bytes_before) / passed_s)
        cpu_share = (time.process_time() - cpu_s) / passed_s
        bound = bound_of(frontier, journal, options.connections, cpu_share)
        left = time_left(options, frontier, speed, now_s - self._began_s, counters.bytes)
        return Progress(
            **_counted(counters),
            elapsed_s=now_s - self._began_s,
            pages_per_s=speed.pages_per_s,
            cpu_share=cpu_share,
            visiting=frontier.visiting,
            qualifying=frontier.qualifying,
            queued=frontier.queued,
            hosts=frontier.hosts,
            bound_by=bound.text,
            bound=bound.code,
            left_s=left.seconds,
            left_by=left.by,
            trouble="" if shortage is None else shortage.cause,
            lacks="" if shortage is None else shortage.resource,
            queues=dict(queues),
        )


def final(committed: Committed, elapsed_s: float = 0.0, before: int = 0) -> Progress:
    """What became durable in a run of `elapsed_s`; earlier ones had made `before` visits."""
    counters = committed.counters
    return Progress(
        **_counted(counters),
        elapsed_s=elapsed_s,
        pages_per_s=(counters.visits - before) / elapsed_s if elapsed_s else 0.0,
        queued=counters.queued,
        hosts=counters.hosts,
    )


def _counted(counters: Counters) -> dict[str, Any]:
    reasons = counters.current_reasons()
    return {
        "visited": counters.visits,
        "bytes": counters.bytes,
        "outcomes": counters.current_outcomes(),
        "reasons": {f"{outcome} {reason}": n for outcome, of in reasons.items() for reason, n in of.items()},
        "statuses": dict(counters.statuses),
        "refused": dict(counters.refused),
        "handled": dict(counters.handled),
    }
