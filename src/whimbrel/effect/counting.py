"""Counts what visits and links come to."""

from collections import Counter
from collections.abc import Mapping
from typing import Final

from whimbrel.commit.counters import Counters, increment
from whimbrel.effect.latency import Latency
from whimbrel.outcome import CONTENT, Outcome
from whimbrel.parse.api import Handled
from whimbrel.result.work import SettledVisit
from whimbrel.url import Url
from whimbrel.visit import VisitResult

_MOST_HOSTS: Final = 10_000
"""Of which dropped URLs are counted."""
_HOST_CHARS: Final = 255
"""Of the name of a host. Links may have longer ones, which nobody can look up."""


class Counting:
    """Moves the counters of the open group. What is of this run alone is kept here: latency, and the hosts that limits
    cut most."""

    def __init__(self, counters: Counters) -> None:
        self.counters = counters
        self.latency = Latency()
        """Of answers, since this run began."""
        self.dropped_by_host: Counter[str] = Counter()
        """URLs that limits have cut since this run began: a host with many is a trap."""

    def count_visit(self, settled: SettledVisit, result: VisitResult, *, known: bool = False) -> None:
        """`known`: the URL had been visited before, and the visit is not another try."""
        counters = self.counters
        counters.visits += 1
        counters.bytes += result.bytes
        if known and settled.captures:
            counters.recaptured += 1
        if result.status:
            increment(counters.statuses, str(result.status))
            self.latency.add(result.elapsed_s)
        if settled.handled is not None and settled.outcome in CONTENT:
            self._count_handled(settled.handled)
        self._count_outcome(settled.outcome, settled.reason)

    def count_dropped(self, url: Url, reason: str) -> None:
        """A limit has cut a URL that was not known before."""
        self._count_outcome(Outcome.DROPPED, reason)
        self.dropped_by_host[url.host[:_HOST_CHARS]] += 1
        if len(self.dropped_by_host) > _MOST_HOSTS:
            self.dropped_by_host = Counter(dict(self.dropped_by_host.most_common(_MOST_HOSTS // 10)))

    def count_refused(self, refused: Mapping[str, int]) -> None:
        """Links of one page that are not followed, by reason."""
        for reason, count in refused.items():
            increment(self.counters.refused, reason, count)

    def count_requeued(self, outcome: str, reason: str) -> None:
        """A URL that ended like this is visited once more."""
        increment(self.counters.requeued.setdefault(outcome, {}), reason)

    def count_qualification(self, word: str) -> None:
        increment(self.counters.qualifications, word)

    def _count_handled(self, handled: Handled) -> None:
        # Where no handler is for a page, a filter may have failed on its links all the same.
        if handled.handlers or handled.outcome != "filter-error":
            increment(self.counters.handled, handled.outcome)

    def _count_outcome(self, outcome: Outcome, reason: str) -> None:
        increment(self.counters.outcomes, outcome.value)
        increment(self.counters.reasons.setdefault(outcome.value, {}), reason)
