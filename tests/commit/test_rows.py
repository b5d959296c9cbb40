"""Rows of the tables, as they are made from what happened."""

import pytest

from whimbrel.commit.rows import dropped_row, requeued_row


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://a.test/x", "a.test"),
        ("http://a.test:8080/", "a.test"),
        ("http://[::1]/", "[::1]"),
        ("http://[2001:db8::2]:8080/x", "[2001:db8::2]"),
    ],
)
def test_the_host_of_a_url_that_was_not_visited_is_its_name(url: str, host: str) -> None:
    assert dropped_row(url, "too-long", "", 1.0)[1] == host
    assert requeued_row(url, "", 1.0)[1] == host
