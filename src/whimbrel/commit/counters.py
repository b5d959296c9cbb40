"""What is counted of a crawl. Every commit carries the counts, so that they are those of exactly what it holds."""

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

_OUTCOME: Final = "outcome "
_REASON: Final = "reason "
_REQUEUED: Final = "requeued reason "


class Counters(msgspec.Struct):
    """Of all runs together. Counts only rise, but for `queued`: a URL that is requeued stays counted under the outcome
    that it had, and `requeued` says how many of those are not the last word."""

    visits: int = 0
    """Visits that are over, refusals included."""
    bytes: int = 0
    """Of bodies, as received."""
    queued: int = 0
    """URLs without a final outcome, at this moment."""
    hosts: int = 0
    """Known so far."""
    recaptured: int = 0
    """Captures of URLs that had been captured before."""
    passed_over: int = 0
    """Records of an import that could not be taken."""
    unvisited: int = 0
    """Captures that belong to no visit: an import finds conversions and metadata."""
    lost_values: int = 0
    """Values that no table can hold and that were left out; the events say which. Counted one commit later."""
    outcomes: dict[str, int] = {}
    """Visits and dropped URLs, by outcome."""
    reasons: dict[str, dict[str, int]] = {}
    """The same, by outcome and reason."""
    statuses: dict[str, int] = {}
    """Answers, by HTTP status."""
    refused: dict[str, int] = {}
    """Links that were not followed, by reason."""
    qualifications: dict[str, int] = {}
    """What hosts became, by standing, or by the reason for which they are disqualified."""
    handled: dict[str, int] = {}
    """Pages that handlers looked at, by how it went, those that were looked at again from the archive included."""
    requeued: dict[str, dict[str, int]] = {}
    """Of `reasons`, those whose URLs are visited once more."""

    def copy(self) -> "Counters":
        return msgspec.msgpack.decode(msgspec.msgpack.encode(self), type=Counters)

    def current_reasons(self) -> dict[str, dict[str, int]]:
        """By outcome and reason, without what was requeued since."""
        found: dict[str, dict[str, int]] = {}
        for outcome, reasons in self.reasons.items():
            again = self.requeued.get(outcome, {})
            left = {reason: count - again.get(reason, 0) for reason, count in reasons.items()}
            left = {reason: count for reason, count in left.items() if count}
            if left:
                found[outcome] = left
        return found

    def current_outcomes(self) -> dict[str, int]:
        """By outcome, without what was requeued since."""
        return {outcome: sum(reasons.values()) for outcome, reasons in self.current_reasons().items()}


def increment(counts: dict[str, int], name: str, by: int = 1) -> None:
    """Count something under a name."""
    counts[name] = counts.get(name, 0) + by


def counters_of_format_1(flat: Mapping[str, int]) -> Counters:
    """What a commit of format 1 counted, under names that were put together from words."""
    return Counters(
        visits=flat.get("visits", 0),
        bytes=flat.get("bytes", 0),
        queued=flat.get("queued", 0),
        hosts=flat.get("hosts", 0),
        passed_over=flat.get("passed over", 0),
        unvisited=flat.get("captures without a visit", 0),
        outcomes=_after(flat, _OUTCOME),
        statuses=_after(flat, "status "),
        refused=_after(flat, "refused "),
        qualifications=_after(flat, "host "),
        reasons=_nested(_after(flat, _REASON).items()),
        requeued=_nested(_after(flat, _REQUEUED).items()),
    )


def _after(flat: Mapping[str, int], prefix: str) -> dict[str, int]:
    return {name.removeprefix(prefix): count for name, count in flat.items() if name.startswith(prefix)}


def _nested(counts: Iterable[tuple[str, int]]) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for name, count in counts:
        outcome, _, reason = name.partition(" ")
        found.setdefault(outcome, {})[reason] = count
    return found
