"""What is read out of HTML, by a tree and by the stream of tags: both must agree."""

import time
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.parse.answers import ask, url_of
from whimbrel.parse.api import ParsedPage
from whimbrel.parse.html import Html
from whimbrel.parse.html_links import Reading
from whimbrel.parse.stream import read_stream

URL = url_of("http://a.test/dir/page")
Read = Callable[[bytes], ParsedPage]


def by_tree(body: bytes, reading: Reading | None = None) -> ParsedPage:
    return Html(reading or Reading(), time.monotonic).read(body, URL, "text/html", "utf-8")


def by_stream(body: bytes, reading: Reading | None = None) -> ParsedPage:
    return read_stream(body, URL, "text/html", "utf-8", reading or Reading(), time.monotonic)


both = pytest.mark.parametrize("read", [by_tree, by_stream])


def links(page: ParsedPage, kind: str = "a") -> list[str]:
    return [link.target.removeprefix("http://a.test") for link in page.links if link.kind == kind]


@both
def test_links_of_every_kind_are_found_in_document_order(read: Callable[..., ParsedPage]) -> None:
    body = b"""<link rel="alternate stylesheet" href=s.css><link rel=Next href=n><link rel=canonical href=/c>
    <link rel=preconnect href=//p.test><meta http-equiv=refresh content="5; URL='r'"><a href=x>1</a>
    <map><area href=y alt=no></map><iframe src=z>old <a href=no></iframe><form action=f><form method=POST action=no>
    </form><img src=i srcset="j 1x, k,1 2x"><script src=q></script><video poster=v></video><a>no</a><a name=no>no</a>"""
    page = read(body)
    assert [(link.kind, link.target.removeprefix("http://a.test")) for link in page.links] == [
        ("link", "/dir/n"), ("canonical", "/c"), ("refresh", "/dir/r"), ("a", "/dir/x"), ("area", "/dir/y"),
        ("iframe", "/dir/z"), ("form", "/dir/f"),
    ]  # fmt: skip
    assert page.canonical == "http://a.test/c"
    assert page.links[0].rel == "next"
    more = read(body, Reading(requisites=True))
    assert links(more, "style") == ["/dir/s.css"]
    assert links(more, "img") == ["/dir/i", "/dir/j", "/dir/k,1"]
    assert (links(more, "script"), links(more, "media")) == (["/dir/q"], ["/dir/v"])


@both
def test_frames_are_found(read: Read) -> None:
    assert links(read(b"<frameset><frame src=a><frame src=b><noframes><a href=no></noframes></frameset>"), "frame") == [
        "/dir/a",
        "/dir/b",
    ]


@both
def test_the_first_base_with_an_address_holds_for_all_links_also_earlier_ones(read: Read) -> None:
    body = b"<a href=1></a><base target=x><base href=/b/><base href=/c/><a href=2></a>"
    assert links(read(body)) == ["/b/1", "/b/2"]
    assert links(read(b"<base href='data:x'><a href=1>")) == ["/dir/1"]


@both
def test_a_target_is_reported_once_per_kind_with_its_first_words(read: Read) -> None:
    page = read(
        b"<a href=x rel=' NoFollow  ugc '> first\n <b>words</b> </a><a href=x#2>second</a><iframe src=x></iframe>"
    )
    assert [(link.kind, link.anchor, link.rel) for link in page.links] == [
        ("a", "first words", "nofollow ugc"),
        ("iframe", "", ""),
    ]


@both
def test_links_without_text_or_value_lead_to_the_page_itself(read: Read) -> None:
    assert links(read(b"<a href>1</a>")) == links(read(b"<a href=''>1</a>")) == ["/dir/page"]


@both
def test_references_in_links_are_resolved_as_browsers_do(read: Read) -> None:
    body = b"<a href='?a=1&amp;b=2'><a href='?a&copy=1&copyx;&copy;&#x41;&#66'><a href='?&lt'>"
    assert links(read(body)) == ["/dir/page?a=1&b=2", "/dir/page?a&copy=1&copyx;%C2%A9AB", "/dir/page?%3C"]


@both
def test_what_is_no_link_is_not_read_as_one(read: Read) -> None:
    body = b"""<!-- <a href=no> --><!--><a href=1>1</a><script>"<a href=no>"</script><style><a href=no></style>
    <textarea><a href=no></textarea><title><a href=no></title><template><a href=no></template><? <a href=2>
    <![CDATA[ <a href=3> ]]><x y="<a href=no>"></ <a href=4> ><a href='5><a href="6">'>"""
    assert links(read(body)) == ["/dir/1", "/dir/5%3E%3Ca%20href=%226%22%3E"]


@both
def test_links_in_noscript_are_found_and_its_words_are_not_text(read: Read) -> None:
    page = read(b"<body>seen<noscript>unseen <a href=x>go</a></noscript> <script>no</script><p>too")
    assert links(page) == ["/dir/x"]
    assert page.text == "seen too"


@both
def test_the_document_says_title_description_language_and_directives(read: Read) -> None:
    page = read(
        b"<html lang=de><title> A \n title &amp; more </title><title>no</title>"
        b"<meta name=Description content=' an\n account'>"
        b"<meta name=robots content='NoIndex, none'><meta name=googlebot content=noarchive>"
        b"<meta name=WHIMBREL content=noarchive>"
    )
    assert (page.title, page.description, page.language) == ("A title & more", "an account", "de")
    assert page.robots == ("noarchive", "nofollow", "noindex")


@both
def test_words_are_apart_where_tags_are(read: Read) -> None:
    assert read(b"<p>one</p><p>two</p> three\n\t <br>four&amp;five\xc2\xa0six").text == "one two three four&five six"


@both
def test_text_can_be_switched_off_and_is_limited(read: Callable[..., ParsedPage]) -> None:
    assert read(b"<p>words", Reading(text=False)).text == ""
    assert read(b"<p>words", Reading(max_text_chars=3)).text == "wor"


@both
def test_too_many_links_are_cut_and_said(read: Callable[..., ParsedPage]) -> None:
    body = b"".join(b"<a href=%d>" % at for at in range(20))
    page = read(body, Reading(max_links=7))
    assert (len(page.links), page.trouble) == (7, "too-many-links")
    assert read(b"<a href=1><a href=1>" * 20, Reading(max_links=1)).trouble == ""


def test_the_stream_stops_when_its_time_is_up() -> None:
    ticks = iter(range(1_000_000))
    page = read_stream(b"<a href=x>" * 5000, URL, "", "", Reading(time_budget_s=3), lambda: float(next(ticks)))
    assert page.trouble == "time-budget"
    assert links(page) == ["/dir/x"]


@pytest.mark.parametrize("target", ["/", "/about/12.html", "/x/odd-urls/1", "/x/html-broken/1", "/x/alias/2"])
def test_both_readers_agree_on_pages_of_the_simulated_web(target: str) -> None:
    fetched, _ = ask(target)
    response = fetched.exchange.response
    assert response is not None
    body = response.document.read()
    tree, stream = by_tree(body), by_stream(body)
    assert tree.links == stream.links
    assert (tree.title, tree.description, tree.text.split()) == (stream.title, stream.description, stream.text.split())


TAGS = st.sampled_from(
    [b"<a href=%d>", b"</a>", b"<p>", b"</p>", b"<b x=%d>", b"</b>", b"<table>", b"<td>", b"</table>", b"<div>",
     b"</div>", b"<!--", b"-->", b"<title>", b"</title>", b"<base href=/%d/>", b"<li>", b"&amp;", b"words ",
     b"<script>", b"</script>", b"<iframe src=%d>", b"</iframe>", b"\0", b"\xff", b"<", b"'", b'"',
     b"<template>", b"</template>", b"<svg>", b"</svg>"]
)  # fmt: skip


@given(st.lists(TAGS, max_size=60))
def test_any_mixture_of_tags_is_read(parts: list[bytes]) -> None:
    body = b"".join(part % at if b"%d" in part else part for at, part in enumerate(parts))
    assert by_tree(body).mime == by_stream(body).mime == "text/html"


@given(st.binary(max_size=2000))
def test_arbitrary_bytes_never_raise(body: bytes) -> None:
    assert by_tree(body).mime == by_stream(body).mime
