"""What decides on a visit: refusals, documents that are known, and further tries."""

import pytest

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


def test_the_same_bytes_at_the_same_url_are_unchanged_and_at_another_a_duplicate() -> None:
    assert classify_document("http://a.test/", "http://a.test/") == (Outcome.UNCHANGED, "same-payload")
    assert classify_document("http://a.test/", "http://b.test/") == (Outcome.DUPLICATE, "same-payload")


def test_a_visit_is_made_three_times_each_after_four_times_as_long_and_never_before_the_server_says() -> None:
    policy = RetryPolicy(max_tries=3, retry_s=30.0)
    assert [policy.wait_s(attempt, 0.0) for attempt in (1, 2, 3)] == [30.0, 120.0, None]
    assert policy.wait_s(1, 3_600.0) == 3_600.0
    assert policy.wait_s(3, 3_600.0) is None, "asking us to wait is no invitation"
