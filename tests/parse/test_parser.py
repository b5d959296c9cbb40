"""Every answer is settled into one outcome, and tried again where that may help."""

from email.utils import formatdate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.parse.answers import FETCHED_AT_S, fetched, page_of, parser, response, settle, targets
from whimbrel.dedupe.api import FirstCapture
from whimbrel.fetch.api import Response
from whimbrel.outcome import Outcome
from whimbrel.parse.api import Module, ParsedPage, Reading
from whimbrel.parse.parser import Parser, ParserConfig
from whimbrel.url import Url


@pytest.mark.parametrize(
    ("answer", "outcome", "reason"),
    [
        (response(200), Outcome.STORED, "new"),
        (response(204), Outcome.STORED, "new"),
        (response(200, b"x", truncated="length"), Outcome.STORED, "truncated-length"),
        (response(200, b"x", content_encoding="gzip"), Outcome.STORED, "undecodable"),
        (response(200, b"x", truncated="length", content_encoding="gzip"), Outcome.STORED, "truncated-length"),
        (response(304), Outcome.UNCHANGED, "http-304"),
        (response(404), Outcome.GONE, "http-404"),
        (response(410), Outcome.GONE, "http-410"),
        (response(403), Outcome.FAILED, "http-403"),
        (response(500), Outcome.FAILED, "http-500"),
        (response(300, location="/there"), Outcome.FAILED, "http-300"),
        (response(305, location="/there"), Outcome.FAILED, "http-305"),
        (response(302), Outcome.FAILED, "bad-redirect"),
        (response(302, location=" "), Outcome.FAILED, "bad-redirect"),
        (response(301, location="/there"), Outcome.REDIRECTED, "http-301"),
        (response(302, location="file:///etc/passwd"), Outcome.REDIRECTED, "http-302"),
        (None, Outcome.FAILED, "reset"),
    ],
)
def test_every_answer_has_one_outcome_and_a_reason(answer: Response | None, outcome: Outcome, reason: str) -> None:
    found = settle(fetched(answer, trouble="" if answer else "reset", attempt=3))
    assert (found.outcome, found.reason) == (outcome, reason)


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504, 599])
def test_a_server_in_trouble_may_do_better_at_another_try(status: int) -> None:
    found = settle(fetched(response(status)))
    assert (found.outcome, found.passing) == (Outcome.FAILED, True)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410, 451, 501, 505])
def test_an_answer_that_will_not_change_is_final(status: int) -> None:
    found = settle(fetched(response(status)))
    assert (found.outcome in (Outcome.FAILED, Outcome.GONE), found.passing) == (True, False)


@pytest.mark.parametrize("trouble", ["refused", "unreachable", "timeout", "too-slow", "reset", "closed", "cut", "tls"])
def test_a_connection_in_trouble_may_do_better_at_another_try(trouble: str) -> None:
    found = settle(fetched(None, trouble=trouble))
    assert (found.outcome, found.reason, found.passing) == (Outcome.FAILED, trouble, True)


@pytest.mark.parametrize("trouble", ["private-address", "bad-url", "header-too-large"])
def test_what_we_refuse_ourselves_is_final(trouble: str) -> None:
    found = settle(fetched(None, trouble=trouble))
    assert (found.outcome, found.passing) == (Outcome.FAILED, False)


@pytest.mark.parametrize(
    ("headers", "wait_s"),
    [
        ({}, 0.0),
        ({"retry_after": "120"}, 120.0),
        ({"retry_after": "9" * 5000}, 86_400.0),
        ({"retry_after": "soon"}, 0.0),
        ({"retry_after": "-5"}, 0.0),
        ({"retry_after": formatdate(FETCHED_AT_S + 61, usegmt=True)}, 60.0),
        ({"retry_after": formatdate(FETCHED_AT_S - 61, usegmt=True)}, 0.0),
        ({"retry_after": formatdate(500, usegmt=True), "date": formatdate(470, usegmt=True)}, 30.0),
        ({"retry_after": formatdate(2**33, usegmt=True)}, 86_400.0),
    ],
)
def test_what_the_server_asks_us_to_wait_is_understood(headers: dict[str, str], wait_s: float) -> None:
    assert settle(fetched(response(503, b"", "", **headers))).retry_after_s == wait_s


def test_a_redirect_names_its_target() -> None:
    assert settle(fetched(response(301, location="../there#part"))).redirect_to == "http://a.test/there"
    assert settle(fetched(response(302, location="file:///etc/passwd"))).redirect_to == ""
    wide = "/é".encode().decode("latin-1")
    assert settle(fetched(response(302, location=wide))).redirect_to == "http://a.test/%C3%A9"


def test_the_eleventh_redirect_in_a_row_is_not_followed() -> None:
    found = settle(fetched(response(302, location="/on"), redirects=10))
    assert (found.outcome, found.reason, found.redirect_to) == (Outcome.FAILED, "redirect-limit", "")


def test_a_payload_that_was_seen_before_is_read_all_the_same_and_compared_if_it_is_long_enough() -> None:
    body = b"<a href=x>" + b"words " * 50
    found = settle(fetched(response(200, body, content_type="text/html")), "http://b.test/")
    assert (found.outcome, found.reason) == (Outcome.STORED, "new"), (
        "whether it is a duplicate is decided with its effects"
    )
    assert (found.earlier, found.comparable) == (FirstCapture("http://b.test/", 5.0), True)
    assert found.page is not None
    assert targets(found.page) == ["http://a.test/dir/x"]
    short = settle(fetched(response(200, body[:255], content_type="text/html")), "http://b.test/")
    assert (short.outcome, short.comparable) == (Outcome.STORED, False)


def test_directives_of_the_header_are_those_of_the_page() -> None:
    page = page_of(b"<meta name=robots content=noarchive>", x_robots_tag="noindex, googlebot: nofollow")
    assert page.robots == ("noarchive", "noindex")
    assert page_of(b"%PDF-", content_type="application/pdf", x_robots_tag="none").robots == ("nofollow", "noindex")


@pytest.mark.parametrize(
    ("body", "mime"),
    [
        (b"<!DOCTYPE html><p>", "text/html"),
        (b"  <!-- x --> <HTML>", "text/html"),
        (b"<?xml version='1.0'?><html>", "text/html"),
        (b"<?xml version='1.0'?><urlset>", "application/xml"),
        (b"words", "text/plain"),
        (b"\x00\x01", "application/octet-stream"),
        (b"\x89PNG\r\n", "application/octet-stream"),
        (b"", ""),
    ],
)
def test_a_document_without_a_type_is_what_it_looks_like(body: bytes, mime: str) -> None:
    assert page_of(body, content_type="").mime == mime
    assert page_of(body, content_type=";;=html/;text").mime == mime


def test_what_says_it_is_something_else_is_not_read_for_links() -> None:
    assert page_of(b"<a href=x>", content_type="image/png").links == ()


class Csv:
    """A user's module."""

    def read(self, body: bytes, url: Url, mime: str, charset: str) -> ParsedPage:
        return ParsedPage(mime, title=body.decode())


class CsvParser(Parser):
    def modules(self, reading: Reading) -> dict[str, Module]:
        return {**super().modules(reading), "text/csv": Csv()}


def test_a_users_parser_reads_more_types() -> None:
    assert parser().modules(Reading()).keys() < parser(kind=CsvParser).modules(Reading()).keys()
    assert page_of(b"a,b", kind=CsvParser, content_type="text/csv; header=present").title == "a,b"
    assert targets(page_of(b"<a href=x>", kind=CsvParser)) == ["http://a.test/dir/x"]


def test_budgets_are_configured() -> None:
    config = ParserConfig(max_links=1, max_text_chars=2)
    page = page_of(b"<a href=1>words</a><a href=2>", config)
    assert (len(page.links), page.text, page.trouble) == (1, "wo", "too-many-links")


@given(
    st.binary(max_size=1000), st.text(max_size=40), st.text(max_size=20), st.integers(100, 999), st.text(max_size=30)
)
def test_no_answer_raises(body: bytes, mime: str, coding: str, status: int, value: str) -> None:
    answer = response(
        status, body, content_type=mime, content_encoding=coding, location=value, retry_after=value, x_robots_tag=value
    )
    assert settle(fetched(answer)).reason
