"""What an exchange makes of a visit (docs/outcomes.md): outcome, reason, and whether another try may do better."""

from typing import Final

from whimbrel.fetch.api import Exchange, Response
from whimbrel.fetch.trouble import Fault
from whimbrel.outcome.duplicate import is_comparable
from whimbrel.outcome.redirect import REDIRECTS, classify_redirect
from whimbrel.outcome.retry_after import asked_wait_s
from whimbrel.outcome.value import Outcome
from whimbrel.outcome.verdict import Verdict
from whimbrel.url import Url

_DENIALS: Final = frozenset(("robots", "robots-unreachable", "blocked"))
_LASTING: Final = frozenset((501, 505))
"""Server errors that say it will never work (RFC 9110 §15.6)."""
_BUSY: Final = frozenset((408, 425, 429))


def classify(url: Url, exchange: Exchange, redirects: int) -> Verdict:
    """The verdict on an exchange that brought no document (`classify_document`): everything but 2xx. `redirects` in a
    row led to this URL. Trouble of our own makes no outcome: the visit
    is still to be made."""
    response = exchange.response
    if response is None:
        trouble = exchange.trouble
        if trouble.fault is Fault.LOCAL:
            return Verdict(Outcome.RETRY, trouble)
        return Verdict(Outcome.FAILED, trouble, passing=trouble.fault is Fault.NETWORK)
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
    return Verdict(Outcome.STORED, reason, comparable=is_comparable(length))
