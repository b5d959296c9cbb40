"""Status codes, Retry-After, and pages that recover after some tries."""

from collections.abc import Callable
from email.utils import formatdate
from http import HTTPStatus
from typing import Final

from whimbrel.simweb.answer import Answer, Reply, SimRequest, html
from whimbrel.simweb.exhibit.api import (
    Exhibit,
    ExhibitPlace,
    Finding,
    Judge,
    Respond,
    always,
    serve_with_link,
    stored_with_link,
)

FAMILY: Final = "status"
MAX_TRIES: Final = 3
"""A correct crawl tries a URL this often before it gives up."""
RETRY_AFTER_S: Final = 2
_CODES: Final = (400, 401, 402, 403, 404, 405, 406, 410, 418, 451, 500, 501, 502, 503, 504)


def _status(code: int) -> Respond:
    def respond(place: ExhibitPlace, request: SimRequest) -> Answer:
        return html(place.document(f"<p>{code} {HTTPStatus(code).phrase}</p>"), code)

    return respond


def _no_content(place: ExhibitPlace, request: SimRequest) -> Answer:
    return Reply(204, ())


def _retry_after(code: int, *, as_date: bool) -> Respond:
    def respond(place: ExhibitPlace, request: SimRequest) -> Answer:
        return html(place.document(), code, ("Retry-After", _retry_value(request, as_date=as_date)))

    return respond


def _retry_value(request: SimRequest, *, as_date: bool) -> str:
    return formatdate(request.clock_s + RETRY_AFTER_S, usegmt=True) if as_date else str(RETRY_AFTER_S)


def _recovers(failures: int) -> Respond:
    def respond(place: ExhibitPlace, request: SimRequest) -> Answer:
        if request.attempt <= failures:
            return html(place.document(), 500)
        return serve_with_link(place, request)

    return respond


def _recovers_retry_after(place: ExhibitPlace, request: SimRequest) -> Answer:
    if request.attempt == 1:
        return html(place.document(), 429, ("Retry-After", str(RETRY_AFTER_S)))
    return serve_with_link(place, request)


def _judge_recovery(failures: int) -> Judge:
    return stored_with_link if failures < MAX_TRIES else always("failed", "http-500")


def _code_judge(code: int) -> Callable[[ExhibitPlace], Finding]:
    return always("gone" if code in (404, 410) else "failed", f"http-{code}")


def _retry_exhibit(code: int, *, as_date: bool) -> Exhibit:
    form = "date" if as_date else "seconds"
    summary = f"always {code} with Retry-After as {'a date' if as_date else 'seconds'}"
    respond = _retry_after(code, as_date=as_date)
    return Exhibit(f"retry-{form}-{code}", FAMILY, summary, respond, always("failed", f"http-{code}"))


EXHIBITS: Final = (
    *(
        Exhibit(f"status-{code}", FAMILY, f"{code} {HTTPStatus(code).phrase}", _status(code), _code_judge(code))
        for code in _CODES
    ),
    Exhibit("status-204", FAMILY, "204 No Content", _no_content, always("stored", "new")),
    *(_retry_exhibit(code, as_date=as_date) for code in (429, 503) for as_date in (False, True)),
    *(
        Exhibit(f"recovers-{n}", FAMILY, f"500 for the first {n} tries, then a page", _recovers(n), _judge_recovery(n))
        for n in (1, 2, 5)
    ),
    Exhibit(
        *("recovers-retry-after", FAMILY, "429 with Retry-After at the first try, then a page"),
        *(_recovers_retry_after, stored_with_link),
    ),
)
