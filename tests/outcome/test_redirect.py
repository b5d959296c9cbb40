"""Where redirects lead."""

import pytest

from whimbrel.fetch.api import Response
from whimbrel.fetch.body import MemoryDocument
from whimbrel.outcome import Outcome
from whimbrel.outcome.redirect import classify_redirect
from whimbrel.url import parse


@pytest.mark.parametrize(
    ("location", "redirects", "outcome", "reason", "target"),
    [
        ("../b#part", 0, Outcome.REDIRECTED, "http-302", "http://a.test/b"),
        ("//b.test", 9, Outcome.REDIRECTED, "http-302", "http://b.test/"),
        ("/b", 10, Outcome.FAILED, "redirect-limit", None),
        ("", 0, Outcome.FAILED, "bad-redirect", None),
        (" ", 10, Outcome.FAILED, "bad-redirect", None),
        ("mailto:x", 0, Outcome.REDIRECTED, "http-302", None),
        ("file:///etc/passwd", 0, Outcome.REDIRECTED, "http-302", None),
        ("http://", 0, Outcome.REDIRECTED, "http-302", None),
    ],
)
def test_a_redirect_leads_to_a_web_url_or_nowhere(
    location: str, redirects: int, outcome: Outcome, reason: str, target: str | None
) -> None:
    url = parse("http://a.test/dir/")
    assert url is not None
    response = Response(302, b"", "1.1", {"location": location}, MemoryDocument(b""))
    found = classify_redirect(url, response, redirects)
    assert (found.outcome, found.reason) == (outcome, reason)
    assert (found.target and found.target.text) == target
