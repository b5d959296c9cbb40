"""Documents that are known."""

from whimbrel.outcome import Outcome
from whimbrel.outcome.duplicate import classify_known_payload


def test_the_same_bytes_at_the_same_url_are_unchanged_and_at_another_a_duplicate() -> None:
    assert classify_known_payload("http://a.test/", "http://a.test/") == (Outcome.UNCHANGED, "same-payload")
    assert classify_known_payload("http://a.test/", "http://b.test/") == (Outcome.DUPLICATE, "same-payload")
