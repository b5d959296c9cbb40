"""The crawl at one moment, what it is bound by, and when it may end."""

import time
from collections import deque
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from whimbrel.commit.committed import Committed
from whimbrel.commit.counters import Counters
from whimbrel.commit.journal import Journal
from whimbrel.frontier.api import OPERATOR, Frontier

_WINDOW_S: Final = 10.0
HANDLED_WELL: Final = ("ok", "filter-error")
"""How it went where handlers themselves did not fail."""
_CLOSED_FOR: Final = {
    OPERATOR: "the operator, who paused it (`whimbrel control DIR unpause`)",
    "disk": "the disk, which takes no data",
    "directory": "the crawl's directory, which takes no data",
    "open-files": "this machine, which has no file descriptors left",
    "memory": "this machine, which has no memory left",
    "software": "a commit that cannot be made",
    "seeds": "seeds that are being added",
    "certificates": "the trusted certificates, which cannot be read",
}


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
    """What keeps the crawl from being faster."""
    left_s: float | None = None
    """A guess at the time until the queue is empty; None when nobody can tell."""
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
        self._history: deque[tuple[float, int, float]] = deque()
        """Time, visits, and CPU time of the process."""

    def measure(self, frontier: Frontier, journal: Journal, queues: Mapping[str, int], connections: int) -> Progress:
        now_s = time.monotonic()
        counters, shortage = journal.counters, journal.shortage
        visited = counters.visits
        self._history.append((now_s, visited, time.process_time()))
        while now_s - self._history[0][0] > _WINDOW_S:
            self._history.popleft()
        since_s, before, cpu_s = self._history[0]
        passed_s = now_s - since_s
        rate = (visited - before) / passed_s if passed_s else 0.0
        return Progress(
            **_counted(counters),
            elapsed_s=now_s - self._began_s,
            pages_per_s=rate,
            cpu_share=(time.process_time() - cpu_s) / passed_s if passed_s else 0.0,
            visiting=frontier.visiting,
            qualifying=frontier.qualifying,
            queued=frontier.queued,
            hosts=frontier.hosts,
            bound_by=_bound_by(frontier, journal, connections),
            left_s=frontier.queued / rate if rate > 0 else None,
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


def _bound_by(frontier: Frontier, journal: Journal, connections: int) -> str:
    closed_for = frontier.closed_for
    if closed_for:
        return " and ".join(_CLOSED_FOR.get(reason, reason) for reason in sorted(closed_for))
    if journal.behind:
        return "the disk: the last commit is not done"
    if frontier.visiting >= connections:
        return "connections (--connections)"
    return _limit(frontier) or _wait(frontier) or "this machine's processor"


def _limit(frontier: Frontier) -> str:
    if frontier.exhausted:
        return "the limit on pages"
    return "the limit on speed" if frontier.limited else ""


def _wait(frontier: Frontier) -> str:
    if frontier.qualifying and not frontier.visiting:
        return "DNS and robots.txt of new hosts"
    due_s = frontier.due_in_s()
    return f"politeness: the next host is due in {due_s:.1f} s" if due_s is not None and due_s > 0 else ""
