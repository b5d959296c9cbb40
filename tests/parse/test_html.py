"""What is read out of HTML."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.parse.answers import url_of
from whimbrel.parse.api import ParsedPage, Reading
from whimbrel.parse.html import Html

URL = url_of("http://a.test/dir/page")


def read(body: bytes, reading: Reading | None = None) -> ParsedPage:
    return Html(reading or Reading()).read(body, URL, "text/html", "utf-8")


def links(page: ParsedPage, kind: str = "a") -> list[str]:
    return [link.target.removeprefix("http://a.test") for link in page.links if link.kind == kind]


def test_links_of_every_kind_are_found_in_document_order() -> None:
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


def test_frames_are_found() -> None:
    assert links(read(b"<frameset><frame src=a><frame src=b><noframes><a href=no></noframes></frameset>"), "frame") == [
        "/dir/a",
        "/dir/b",
    ]


def test_the_first_base_with_an_address_holds_for_all_links_also_earlier_ones() -> None:
    body = b"<a href=1></a><base target=x><base href=/b/><base href=/c/><a href=2></a>"
    assert links(read(body)) == ["/b/1", "/b/2"]
    assert links(read(b"<base href='data:x'><a href=1>")) == ["/dir/1"]


def test_a_target_is_reported_once_per_kind_with_its_first_words() -> None:
    page = read(
        b"<a href=x rel=' NoFollow  ugc '> first\n <b>words</b> </a><a href=x#2>second</a><iframe src=x></iframe>"
    )
    assert [(link.kind, link.anchor, link.rel) for link in page.links] == [
        ("a", "first words", "nofollow ugc"),
        ("iframe", "", ""),
    ]


def test_links_without_text_or_value_lead_to_the_page_itself() -> None:
    assert links(read(b"<a href>1</a>")) == links(read(b"<a href=''>1</a>")) == ["/dir/page"]


def test_references_in_links_are_resolved_as_browsers_do() -> None:
    body = b"<a href='?a=1&amp;b=2'><a href='?a&copy=1&copyx;&copy;&#x41;&#66'><a href='?&lt'>"
    assert links(read(body)) == ["/dir/page?a=1&b=2", "/dir/page?a&copy=1&copyx;%C2%A9AB", "/dir/page?%3C"]


def test_what_is_no_link_is_not_read_as_one() -> None:
    body = b"""<!-- <a href=no> --><!--><a href=1>1</a><script>"<a href=no>"</script><style><a href=no></style>
    <textarea><a href=no></textarea><title><a href=no></title><template><a href=no></template><? <a href=2>
    <![CDATA[ <a href=3> ]]><x y="<a href=no>"></ <a href=4> ><a href='5><a href="6">'>"""
    assert links(read(body)) == ["/dir/1", "/dir/5%3E%3Ca%20href=%226%22%3E"]


def test_links_in_noscript_are_found_and_its_words_are_not_text() -> None:
    page = read(b"<body>seen<noscript>unseen <a href=x>go</a></noscript> <script>no</script><p>too")
    assert links(page) == ["/dir/x"]
    assert page.text == "seen too"


def test_the_document_says_title_description_language_and_directives() -> None:
    page = read(
        b"<html lang=de><title> A \n title &amp; more </title><title>no</title>"
        b"<meta name=Description content=' an\n account'>"
        b"<meta name=robots content='NoIndex, none'><meta name=googlebot content=noarchive>"
        b"<meta name=WHIMBREL content=noarchive>"
    )
    assert (page.title, page.description, page.language) == ("A title & more", "an account", "de")
    assert page.robots == ("noarchive", "nofollow", "noindex")


def test_words_are_apart_where_tags_are() -> None:
    assert read(b"<p>one</p><p>two</p> three\n\t <br>four&amp;five\xc2\xa0six").text == "one two three four&five six"


def test_text_can_be_switched_off_and_is_limited() -> None:
    assert read(b"<p>words", Reading(text=False)).text == ""
    assert read(b"<p>words", Reading(max_text_chars=3)).text == "wor"


def test_too_many_links_are_cut_and_said() -> None:
    body = b"".join(b"<a href=%d>" % at for at in range(20))
    page = read(body, Reading(max_links=7))
    assert (len(page.links), page.trouble) == (7, "too-many-links")
    assert read(b"<a href=1><a href=1>" * 20, Reading(max_links=1)).trouble == ""


def test_links_that_name_documents_are_told_from_those_that_name_services_and_pictures() -> None:
    body = b"""<link rel=prev href=1><link rel="INDEX" href=2><link rel=help href=3><link rel=search href=4>
    <link rel=author href=5><link rel=alternate type=application/rss+xml href=6><link rel=alternate hreflang=de href=7>
    <link rel=license href=8><link rel=pingback href=no><link rel=EditURI href=no><link rel="shortcut icon" href=no>
    <link rel=alternate type=application/json+oembed href=no><link rel=prefetch href=no><link href=no><link rel=next>"""
    assert links(read(body), "link") == [f"/dir/{at}" for at in range(1, 9)]


def test_what_a_template_holds_is_no_part_of_the_document() -> None:
    body = b"<p>a<template>no <a href=no>no</a><template><a href=no></template></template><a href=1>b</a>"
    page = read(body)
    assert (links(page), page.text) == (["/dir/1"], "a b")


def test_a_link_in_a_picture_is_a_link_and_its_title_is_not_the_documents() -> None:
    page = read(b"<svg><title>no</title><a xlink:href=1>x</a><a href=2 xlink:href=no>y</a></svg><title>yes</title>")
    assert (links(page), page.title) == (["/dir/1", "/dir/2"], "yes")


def test_fragments_make_no_other_links_but_a_blank_before_them_does() -> None:
    body = b"<a href=x#1>first</a><a href=x#2>second</a><a href='#'>top</a><a href='x #3'>third</a><a href='#a'>no</a>"
    page = read(body)
    assert [(link.target[18:], link.anchor) for link in page.links] == [
        ("x", "first"),
        ("page", "top"),
        ("x%20", "third"),
    ]


@pytest.mark.parametrize("end", [b"x" * 9_000_000, b"<b id=%d><p>"])
def test_a_document_that_would_take_too_much_memory_is_read_up_to_there(end: bytes) -> None:
    rest = b"".join(end % at for at in range(40_000)) if b"%d" in end else end
    page = read(b"<a href=1>x</a>" + b"<p>" * 5_000 + rest + b"<a href=no>")
    assert (links(page), page.trouble) == (["/dir/1"], "too-large")


@pytest.mark.parametrize("charset", ["utf-8", "utf-8-sig", "windows-1252", "utf-16"])
def test_a_document_with_many_tags_is_read_like_any_other(charset: str) -> None:
    body = "<title>t</title>" + "".join(f"<p>ü{at} <a href={at}>l</a>" for at in range(4_000))
    page = Html(Reading()).read(body.encode(charset), URL, "text/html", charset.removesuffix("-sig"))
    assert (len(page.links), page.title, page.trouble) == (4_000, "t", "")
    assert page.text.split()[::2] == [f"ü{at}" for at in range(4_000)]
    broken = Html(Reading()).read(b"<p>\xff\xc3<p>" * 2_000, URL, "text/html", "utf-8")
    assert broken.text.split() == ["\ufffd\ufffd"] * 2_000


TAGS = st.sampled_from(
    [b"<a href=%d>", b"</a>", b"<p>", b"</p>", b"<b x=%d>", b"</b>", b"<table>", b"<td>", b"</table>", b"<div>",
     b"</div>", b"<!--", b"-->", b"<title>", b"</title>", b"<base href=/%d/>", b"<li>", b"&amp;", b"words ",
     b"<script>", b"</script>", b"<iframe src=%d>", b"</iframe>", b"\0", b"\xff", b"<", b"'", b'"',
     b"<template>", b"</template>", b"<svg>", b"</svg>"]
)  # fmt: skip


@given(st.lists(TAGS, max_size=60))
def test_any_mixture_of_tags_is_read(parts: list[bytes]) -> None:
    body = b"".join(part % at if b"%d" in part else part for at, part in enumerate(parts))
    assert read(body).mime == "text/html"


@given(st.binary(max_size=2000))
def test_arbitrary_bytes_never_raise(body: bytes) -> None:
    assert read(body).mime == "text/html"


def test_a_template_in_a_picture_is_none_and_does_not_crash_the_library() -> None:
    # turbohtml 1.15.4 dies on this one (found by `make fuzz`).
    page = read(b"<font><svg><template><title><marquee></template>><dt></font><a href=1>")
    assert links(page) == ["/dir/1"]
    body = b"<template><a href=no></template><TEMPLATE><a href=no></TEMPLATE><svg><g></svg><a href=2>"
    assert links(read(body)) == ["/dir/2"]
    assert links(read(body + b"<p>x" * 3_000)) == ["/dir/2"]


@pytest.mark.parametrize(
    ("body", "found"),
    [
        (b"<svg><base href=/no/></svg><a href=1>", ["/dir/1"]),
        (b"<svg><iframe src=no></iframe></svg><math><area href=no></math><a href=1>", ["/dir/1"]),
        (b"<a xlink:href=no><a href=1>", ["/dir/1"]),
        (b"<svg><link rel=canonical href=no><html lang=no></svg><a href=1>", ["/dir/1"]),
    ],
)
def test_elements_of_pictures_and_formulas_are_not_those_of_html(body: bytes, found: list[str]) -> None:
    page = read(body)
    assert [link.target.removeprefix("http://a.test") for link in page.links] == found
    assert (page.canonical, page.language) == ("", "")


def test_robots_are_heard_after_any_number_of_other_metas() -> None:
    many = b"".join(b"<meta name=citation_author content='%d'>" % at for at in range(200))
    assert read(many + b"<meta name=robots content='noindex, nofollow'>").robots == ("nofollow", "noindex")


@pytest.mark.parametrize("content", ["30", "5", "5;", "5;url=", "5; url=''", "x;url=no", "5no", ""])
def test_a_page_that_only_reloads_itself_links_nowhere(content: str) -> None:
    assert links(read(f'<meta http-equiv=refresh content="{content}">'.encode()), "refresh") == []


@pytest.mark.parametrize("content", ["0;url=r", "5; URL='r'", ".5 r", "5, r", "0;  url = r"])
def test_a_refresh_with_an_address_is_a_link_whatever_else_the_tag_is_called(content: str) -> None:
    assert links(read(f'<meta name=x http-equiv=refresh content="{content}">'.encode()), "refresh") == ["/dir/r"]


def test_the_first_canonical_that_leads_anywhere_counts() -> None:
    assert read(b"<link rel=canonical href=http://[><link rel=canonical href=/c>").canonical == "http://a.test/c"


def test_candidates_of_pictures_need_no_blank_between_them() -> None:
    page = read(b'<img srcset="x.png 1x,y.png 2x,, z,1.png,">', Reading(requisites=True))
    assert links(page, "img") == ["/dir/x.png", "/dir/y.png", "/dir/z,1.png"]


def test_links_beyond_what_is_looked_at_are_told() -> None:
    body = b"".join(b"<a href=m:%d>" % at for at in range(200)) + b"<a href=late>"
    assert read(body, Reading(max_links=10)).trouble == "too-many-links"


def test_services_in_json_are_no_documents() -> None:
    body = b"<link rel=alternate type='application/json; charset=utf-8' href=no><link rel=alternate href=1>"
    assert links(read(body), "link") == ["/dir/1"]


def test_links_that_no_server_takes_and_words_that_repeat_cost_nothing() -> None:
    long = b"<a href=" + b"x" * 20_000 + b">no</a><a href=1>yes</a>"
    assert links(read(long)) == ["/dir/1"]
