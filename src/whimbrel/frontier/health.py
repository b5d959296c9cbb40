"""How well a host answers, and what follows from it."""

from collections.abc import Sequence

from whimbrel.frontier.host import HostRecord
from whimbrel.visit import VisitResult


def record_result(record: HostRecord, ending: VisitResult, park_after: int, park_s: Sequence[float]) -> float:
    """Enter how a visit ended into a host's record; returns for how many seconds the host is left alone, 0 if not.

    A host that asks for a rest (`outcome/retry_after.py`) gets it. After `park_after` failures in a row, of
    connections, TLS or DNS, a host is parked with its whole queue, longer each time; after the last time it is given
    up, and its URLs end with the reason of the last failure.
    """
    if ending.trouble:
        record.failed += 1
        record.last_error = ending.trouble
    else:
        record.fetched += 1
    if ending.connected:
        record.failures_in_row = record.parked = 0
        return ending.retry_after_s
    record.failures_in_row += 1
    if record.failures_in_row < park_after:
        return 0.0
    record.failures_in_row = 0
    record.parked += 1
    if record.parked > len(park_s):
        record.given_up = ending.trouble
        return 0.0
    return park_s[record.parked - 1]


def reset_health(record: HostRecord) -> None:
    """As if it had never failed; a host that is not qualified is asked again."""
    record.given_up = ""
    record.parked = record.failures_in_row = 0
    record.not_before_s = 0.0
    if record.qualification is not None and record.qualification.standing != "qualified":
        record.qualification = None
