"""What an answer makes of a visit: outcome and reason, and whether it is worth another try (docs/outcomes.md)."""

from typing import Final

from whimbrel.fetch.api import Fetched, Response
from whimbrel.outcome import Outcome, retry_after_s

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


def settled(fetched: Fetched, max_tries: int) -> tuple[Outcome, str]:
    """Outcome and reason of a visit that brought no document: everything but 2xx."""
    visit, exchange = fetched.visit, fetched.exchange
    response = exchange.response
    if response is None:
        reason = exchange.trouble or visit.refusal
        if reason in _DENIALS:
            return Outcome.DENIED, reason
        # A visit without a request was refused by the frontier, which has counted its tries.
        again = not visit.refusal and reason in _PASSING and visit.attempt < max_tries
        return (Outcome.RETRY if again else Outcome.FAILED), reason
    status = response.status
    reason = f"http-{status}"
    if status == 304:
        return Outcome.UNCHANGED, reason
    if status in REDIRECTS:
        return _redirected(fetched, response)
    if status in (404, 410):
        return Outcome.GONE, reason
    passing = status in _BUSY or (500 <= status < 600 and status not in _LASTING)
    return (Outcome.RETRY if passing and visit.attempt < max_tries else Outcome.FAILED), reason


def _redirected(fetched: Fetched, response: Response) -> tuple[Outcome, str]:
    if not location(response):
        return Outcome.FAILED, "bad-redirect"
    if fetched.visit.redirects >= MAX_REDIRECTS:
        return Outcome.FAILED, "redirect-limit"
    return Outcome.REDIRECTED, f"http-{response.status}"


def location(response: Response) -> str:
    """The Location header; empty when there is none. Servers send UTF-8 in it, and headers are read as Latin-1."""
    value = (response.header("location") or "").strip()
    if value.isascii():
        return value
    try:
        return value.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return value


def asked_wait_s(fetched: Fetched) -> float:
    """What an answer that is an error asks us to wait; 0 when it does not."""
    exchange = fetched.exchange
    response = exchange.response
    if response is None or response.status < 400:
        return 0.0
    answered_s = exchange.started_s + exchange.elapsed_s
    return retry_after_s(response.header("retry-after"), response.header("date"), answered_s)
