"""What an exchange makes of a visit (docs/outcomes.md): outcome, reason, and whether another try may do better."""

from typing import Final

import msgspec

from whimbrel.fetch.api import Exchange, Response
from whimbrel.outcome.retry_after import asked_wait_s
from whimbrel.outcome.value import Outcome
from whimbrel.url import Url, resolve

MAX_REDIRECTS: Final = 10
"""In a row."""
REDIRECTS: Final = frozenset((301, 302, 303, 307, 308))
_DENIALS: Final = frozenset(("robots", "robots-unreachable", "blocked"))
_PASSING: Final = frozenset(
    ("dns", "refused", "unreachable", "timeout", "too-slow", "reset", "closed", "cut", "bad-http", "tls")
)
"""Troubles that may be gone at the next try. Not among them: what we refuse to do, and headers without end."""
_LASTING: Final = frozenset((501, 505))
"""Server errors that say it will never work (RFC 9110 §15.6)."""
_BUSY: Final = frozenset((408, 425, 429))
_NEVER_DUPLICATE: Final = 256
"""Documents with fewer bytes than this, decoded, are never called duplicates: every empty page is like every other."""


class Verdict(msgspec.Struct, frozen=True, gc=False):
    outcome: Outcome
    reason: str
    passing: bool = False
    """The failure may be gone at another try; whether there is one is for the retry policy to say."""
    retry_after_s: float = 0.0
    """What the server asked us to wait; 0 when it did not."""
    target: Url | None = None
    """Where a redirect leads; None when it leads to what is no web URL, such as `mailto:`, and so nowhere."""
    comparable: bool = False
    """The document is long enough to be called a duplicate of another, or another of it."""


def classify(url: Url, exchange: Exchange, redirects: int) -> Verdict:
    """The verdict on an exchange that brought no document (`classify_document`): everything but 2xx. `redirects` in a
    row led to this URL."""
    response = exchange.response
    if response is None:
        return Verdict(Outcome.FAILED, exchange.trouble, passing=exchange.trouble in _PASSING)
    status = response.status
    reason = f"http-{status}"
    if status == 304:
        return Verdict(Outcome.UNCHANGED, reason)
    if status in REDIRECTS:
        return classify_redirect(url, response, redirects)
    wait_s = asked_wait_s(exchange)
    if status in (404, 410):
        return Verdict(Outcome.GONE, reason, retry_after_s=wait_s)
    passing = status in _BUSY or (500 <= status < 600 and status not in _LASTING)
    return Verdict(Outcome.FAILED, reason, passing, wait_s)


def classify_refusal(reason: str) -> Outcome:
    """The outcome of a visit that is over before a request was made."""
    return Outcome.DENIED if reason in _DENIALS else Outcome.FAILED


def classify_document(response: Response, trouble: str, length: int) -> Verdict:
    """The verdict on a document, as long as nobody knows its payload: it has `length` bytes once its content codings
    are taken off, which may have met `trouble`."""
    reason = "truncated-length" if response.truncated == "length" else trouble or "new"
    return Verdict(Outcome.STORED, reason, comparable=length >= _NEVER_DUPLICATE)


def classify_known_payload(url: str, earlier: str) -> tuple[Outcome, str]:
    """Outcome and reason of a document whose payload another capture, of the URL `earlier`, has brought before. The
    same bytes at the same URL are no duplicate: the page has not changed."""
    return (Outcome.UNCHANGED if earlier == url else Outcome.DUPLICATE), "same-payload"


def classify_redirect(url: Url, response: Response, redirects: int, max_redirects: int = MAX_REDIRECTS) -> Verdict:
    """The verdict on an answer of `REDIRECTS`, for pages and for robots.txt alike."""
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
