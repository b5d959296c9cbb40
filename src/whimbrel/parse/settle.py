"""What an answer makes of a visit: outcome and reason, and whether it is worth another try (docs/outcomes.md)."""

from email.utils import parsedate_to_datetime
from typing import Final

from whimbrel.fetch.api import Fetched, Response
from whimbrel.outcome import Outcome

MAX_REDIRECTS: Final = 10
"""In a row."""
MAX_RETRY_AFTER_S: Final = 86_400.0
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


def retry_after_s(fetched: Fetched) -> float:
    """What the server asked us to wait, up to a day; 0 when it did not (RFC 9110 §10.2.3)."""
    response = fetched.exchange.response
    value = (response.header("retry-after") or "").strip() if response is not None and response.status >= 400 else ""
    if response is None or not value:
        return 0.0
    if value.isascii() and value.isdigit():
        return min(MAX_RETRY_AFTER_S, float(value[:12]))
    until_s = _time_s(value)
    if until_s is None:
        return 0.0
    # Against the server's own clock, if it says what that shows.
    now_s = _time_s(response.header("date") or "")
    if now_s is None:
        now_s = fetched.exchange.started_s + fetched.exchange.elapsed_s
    return min(MAX_RETRY_AFTER_S, max(0.0, until_s - now_s))


def _time_s(date: str) -> float | None:
    try:
        return parsedate_to_datetime(date).timestamp()
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
