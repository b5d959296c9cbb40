"""Every answer is settled into one outcome; links come before it."""

import pytest

from whimbrel.fetch.api import Fetched, Response
from whimbrel.frontier.api import Discovered, Visit
from whimbrel.outcome import Outcome
from whimbrel.parse.api import Visited
from whimbrel.parse.html import read_html
from whimbrel.parse.parser import Parser
from whimbrel.url import Url, parse


def url(text: str) -> Url:
    found = parse(text)
    assert found is not None
    return found


PAGE = url("http://a.test/dir/page")


def process(response: Response | None, trouble: str = "", redirects: int = 0) -> tuple[list[Discovered], Visited]:
    fetched = Fetched(Visit(PAGE, 3, "", redirects), response, trouble, 0.0, 0.0)
    *links, visited = Parser().process(fetched)
    assert isinstance(visited, Visited)
    return [link for link in links if isinstance(link, Discovered)], visited


def response(status: int, body: bytes = b"", *, truncated: bool = False, **headers: str) -> Response:
    named = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    return Response(status, named, body, "127.0.0.1", truncated)


@pytest.mark.parametrize(
    ("answer", "outcome", "reason"),
    [
        (response(200), Outcome.STORED, "new"),
        (response(204), Outcome.STORED, "new"),
        (response(200, b"x", truncated=True), Outcome.STORED, "truncated-length"),
        (response(404), Outcome.GONE, "http-404"),
        (response(410), Outcome.GONE, "http-410"),
        (response(403), Outcome.FAILED, "http-403"),
        (response(500), Outcome.FAILED, "http-500"),
        (response(302), Outcome.FAILED, "bad-redirect"),
        (response(301, location="/there"), Outcome.REDIRECTED, "http-301"),
        (response(302, location="file:///etc/passwd"), Outcome.REDIRECTED, "http-302"),
        (None, Outcome.FAILED, "reset"),
    ],
)
def test_every_answer_has_one_outcome_and_a_reason(answer: Response | None, outcome: Outcome, reason: str) -> None:
    _, visited = process(answer, "" if answer else "reset")
    assert (visited.outcome, visited.reason) == (outcome, reason)


def test_a_redirect_leads_on_at_the_same_depth() -> None:
    (link,), _ = process(response(301, location="../there#part"), redirects=2)
    assert (link.url.text, link.depth, link.redirects) == ("http://a.test/there", 3, 3)


def test_the_eleventh_redirect_in_a_row_is_not_followed() -> None:
    links, visited = process(response(302, location="/on"), redirects=10)
    assert (links, visited.reason) == ([], "redirect-limit")


def test_links_are_resolved_each_target_once_and_only_of_html() -> None:
    body = (
        b'<title> A  title </title><base href="/base/"><a href="x">1</a><a href="x#frag">2</a>'
        b'<area href="/y"><iframe src="z"></iframe><a href="mailto:a@b">m</a><img src="i.png">'
    )
    links, visited = process(response(200, body, content_type="text/html; charset=utf-8"))
    assert [link.url.text for link in links] == ["http://a.test/base/x", "http://a.test/y", "http://a.test/base/z"]
    assert {link.depth for link in links} == {4}
    assert (visited.title, visited.links) == ("A title", 3)
    assert process(response(200, body, content_type="image/png"))[0] == []


@pytest.mark.parametrize(
    "body", [b"", b"\0\0\0", b"<", b"<a href", b"\xff\xfe<\0a\0", b"<div>" * 50_000, b"<a href=/x>" * 5_000]
)
def test_no_body_breaks_the_parser(body: bytes) -> None:
    assert read_html(body, PAGE).links in ([], [url("http://a.test/x")])
