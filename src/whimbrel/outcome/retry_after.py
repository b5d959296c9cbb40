"""What a server says when it has too many requests, and how long it asks us to wait.

Every request is judged here, whether it is for a page or for robots.txt.
"""

from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Final

from whimbrel.fetch.api import Exchange

_TOO_MANY: Final = (429, 503)
"""Too Many Requests (RFC 6585 §4) and Service Unavailable (RFC 9110 §15.6.4)."""
_LIMITED: Final = (403, 408, 413, 429)
MAX_RETRY_AFTER_S: Final = 86_400.0
"""The longest wait that is honoured: a day."""


def asks_to_slow_down(status: int, wait_s: float) -> bool:
    """Whether an answer asks for fewer requests: 429 and 503 do, and so does every answer that asks us to wait."""
    return wait_s > 0.0 or status in _TOO_MANY


def asked_wait_s(exchange: Exchange) -> float:
    """For how long an answer asks us to leave its host alone; 0 when it does not.

    Retry-After counts with every error of the server, and with those that servers give to visitors they limit. With a
    redirect it is about the target (RFC 9110 §10.2.3), with 404 and the like about one page: it is not looked at.
    """
    response = exchange.response
    if response is None or not (response.status >= 500 or response.status in _LIMITED):
        return 0.0
    value = response.header("retry-after")
    if value is None:
        return 0.0
    return retry_after_s(value, response.header("date"), exchange.started_s + exchange.elapsed_s)


def retry_after_s(value: str | None, date: str | None, now_s: float) -> float:
    """The seconds that a Retry-After header asks for, up to a day (RFC 9110 §10.2.3); 0 when it asks for none.

    `value` is the header: a number of seconds, or a date. A date is compared with the server's own clock, which `date`
    (the Date header) tells; `now_s`, our wall clock when the answer came, is used where that is missing or unreadable.
    """
    text = (value or "").strip()
    if text.isascii() and text.isdigit():
        return min(float(text), MAX_RETRY_AFTER_S)
    until_s = _date_s(text)
    if until_s is None:
        return 0.0
    server_s = _date_s(date or "")
    return min(max(until_s - (now_s if server_s is None else server_s), 0.0), MAX_RETRY_AFTER_S)


def _date_s(text: str) -> float | None:
    try:
        date = parsedate_to_datetime(text)
        return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
