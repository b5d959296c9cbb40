"""What decides on a visit: refusals, documents, and further tries."""

import pytest

from whimbrel.fetch.api import Response
from whimbrel.fetch.body import MemoryDocument
from whimbrel.outcome import Outcome
from whimbrel.outcome.classify import classify_document, classify_refusal
from whimbrel.outcome.retry import RetryPolicy


@pytest.mark.parametrize(
    ("reason", "outcome"),
    [
        ("robots", Outcome.DENIED),
        ("robots-unreachable", Outcome.DENIED),
        ("blocked", Outcome.DENIED),
        ("dns", Outcome.FAILED),
        ("private-address", Outcome.FAILED),
        ("timeout", Outcome.FAILED),
    ],
)
def test_a_visit_without_a_request_is_denied_where_a_rule_says_so_and_failed_where_the_host_does(
    reason: str, outcome: Outcome
) -> None:
    assert classify_refusal(reason) is outcome


@pytest.mark.parametrize(
    ("truncated", "trouble", "length", "reason", "comparable"),
    [
        ("", "", 0, "new", False),
        ("", "", 255, "new", False),
        ("", "", 256, "new", True),
        ("", "undecodable", 256, "undecodable", True),
        ("length", "decoded-cut", 256, "truncated-length", True),
    ],
)
def test_a_document_is_stored_and_compared_if_it_is_long_enough(
    truncated: str, trouble: str, length: int, reason: str, *, comparable: bool
) -> None:
    response = Response(200, b"", "1.1", {}, MemoryDocument(b""), truncated)
    found = classify_document(response, trouble, length)
    assert (found.outcome, found.reason, found.comparable) == (Outcome.STORED, reason, comparable)


def test_a_visit_is_made_three_times_each_after_four_times_as_long_and_never_before_the_server_says() -> None:
    policy = RetryPolicy(max_tries=3, retry_s=30.0)
    assert [policy.wait_s(attempt, 0.0) for attempt in (1, 2, 3)] == [30.0, 120.0, None]
    assert policy.wait_s(1, 3_600.0) == 3_600.0
    assert policy.wait_s(3, 3_600.0) is None, "asking us to wait is no invitation"
