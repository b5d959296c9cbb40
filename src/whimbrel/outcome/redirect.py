"""Where a redirect leads, and how many in a row are followed."""

from typing import Final

from whimbrel.fetch.api import Response
from whimbrel.outcome.value import Outcome
from whimbrel.outcome.verdict import Verdict
from whimbrel.url import Url, resolve

REDIRECTS: Final = frozenset((301, 302, 303, 307, 308))
MAX_REDIRECTS: Final = 10
"""In a row."""


def classify_redirect(url: Url, response: Response, redirects: int, max_redirects: int = MAX_REDIRECTS) -> Verdict:
    """The verdict on an answer of `REDIRECTS`, for pages and for robots.txt alike. `redirects` in a row led to this
    URL."""
    sent_to = _location(response)
    if not sent_to:
        return Verdict(Outcome.FAILED, "bad-redirect")
    if redirects >= max_redirects:
        return Verdict(Outcome.FAILED, "redirect-limit")
    return Verdict(Outcome.REDIRECTED, f"http-{response.status}", target=resolve(url, sent_to))


def _location(response: Response) -> str:
    """The Location header; empty when there is none. Servers send UTF-8 in it, and headers are read as Latin-1."""
    value = (response.header("location") or "").strip()
    if value.isascii():
        return value
    try:
        return value.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return value
