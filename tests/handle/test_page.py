"""What handlers can ask a page."""

import gzip
import re
from pathlib import Path
from typing import Any

import pytest

from whimbrel.handle.number import number_in
from whimbrel.handle.page import Page, RawPage
from whimbrel.parse.api import Reading
from whimbrel.parse.html import Html
from whimbrel.url import parse

HTML = """<!DOCTYPE html><html><head><title> A  shop </title><base href="/shop/">
<script type="application/ld+json">{"@context": "https://schema.org", "@type": "Product", "name": "Lamp"}</script>
<script type="application/ld+json">{"@graph": [{"@type": "A"}, {"@type": "B"}]}</script>
<script type="application/ld+json">{broken</script>
<style>p { color: red }</style></head><body>
<h1>Lamp <b>of</b> brass</h1><p class="price">1.234,50 €</p><p class="none">soon</p>
<a class="next" href="page/2?x=1">next</a><a href="mailto:me@a.test">mail</a><a href="/other">other</a>
<div itemscope itemtype="https://schema.org/Product"><span itemprop="name">Lamp</span>
<a itemprop="url" href="lamp">x</a><meta itemprop="color" content="red"><span itemprop="color">blue</span>
<div itemprop="offers" itemscope itemtype="https://schema.org/Offer">
<data itemprop="price" value="12">twelve</data></div></div>
<ul><li>one</li><li>two</li></ul><p id="é">Größe</p></body></html>"""


def page(html: str = HTML, **more: Any) -> Page:
    raw = {"url": "https://a.test/x/y", "status": 200, "headers": {}, "payload": html.encode(), "mime": "text/html"}
    return Page(RawPage(**{**raw, **more}))


def test_css() -> None:
    one = page()
    assert one.title == "A shop"
    assert one.css("h1").text == "Lamp of brass"
    assert one.css(".price").number == 1234.5
    assert one.css(".none").number is None
    assert one.css("a.next").href == "https://a.test/shop/page/2?x=1"
    assert one.css("a.prev").href is None
    assert one.css("a.prev").text == ""
    assert one.css("a").hrefs == [
        "https://a.test/shop/page/2?x=1",
        "https://a.test/other",
        "https://a.test/shop/lamp",
    ]
    assert one.css("a")[1].href is None
    assert one.css("ul").css("li").texts == ["one", "two"]
    assert [item.text for item in one.css("li")] == ["one", "two"]
    assert len(one.css("li")[:1]) == 1
    assert one.css("a.next").attr("class") == "next"
    assert one.css("a.next").attr("rel", "none") == "none"
    assert one.css("li").html == "<li>one</li>"
    assert one.css("li").re("o.") == ["on"]
    assert not one.css("nothing")
    with pytest.raises(ValueError, match="is no CSS selector"):
        one.css("a[")


def test_xpath() -> None:
    one = page()
    assert one.xpath("//h1").text == "Lamp of brass"
    assert one.xpath("//li").texts == ["one", "two"]
    assert one.xpath("//a[@class='next']/@href").text == "page/2?x=1"
    assert one.xpath("//a[@class='next']/@href").href == "https://a.test/shop/page/2?x=1"
    assert one.xpath("//a[@class='next']").href == "https://a.test/shop/page/2?x=1"
    assert one.xpath("count(//li)").number == 2
    assert one.xpath("//ul").css("li").texts == ["one", "two"]
    assert one.xpath("//p[@id='é']").text == "Größe"
    assert page("").xpath("//p").texts == []


def test_texts_and_attributes_by_css() -> None:
    one = page("<p>a <b>b</b> c</p><p>d</p><a href='/x' title=t>e</a><i>f</i>")
    assert one.css("p::text").texts == ["a", "c", "d"]
    assert one.css("p").css("b::text").text == "b"
    assert one.css("a::attr(href)").text == "/x"
    assert one.css("a::attr(href)").href == "https://a.test/x"
    assert one.css("b::text, i::text").texts == ["b", "f"]
    assert one.css("i::attr(id)").texts == []
    for selector in ("p::text, a::attr(href)", "p::text, a", "a::attr(href), a::attr(title)"):
        with pytest.raises(ValueError, match="asks for different things at once"):
            one.css(selector)
    broken = ("p::text b", "p::first-line", "p::text::text", "p::attr()", "p > ::text", "a[ ::text", "::text >")
    for selector in (*broken, "p,::text,"):
        with pytest.raises(ValueError, match=re.escape(repr(selector))):
            one.css(selector)


@pytest.mark.parametrize(
    ("selector", "texts"),
    [
        (":is(a,p)::text", ["a", "c", "e"]), ("a:not(.x, .y)::text", ["e"]), ('[title="a, b"]::attr(href)', ["/x"]),
        ('[title="a::text"]::text', ["f"]), ("[title='a::text'],b::text", None), ('a::attr("href")', ["/x"]),
        ("a::attr( 'href' )", ["/x"]), ("p ::text", ["a", "b", "c"]), ("p::text", ["a", "c"]),
        ("p *::text", ["a", "b", "c"]), ("p > *::text", ["b"]),
        ("body *::text", ["a", "b", "c", "e", "f"]), ("*::text", ["a", "b", "c", "e", "f"]),
        ("::text", ["a", "b", "c", "e", "f"]), ("p ::text, i::text", ["a", "b", "c", "f"]),
        ("p, b::text", None), ("p::text, p ::text", ["a", "b", "c"]), ("::attr(class)", ["k", "m"]),
        ("body ::attr(class)", ["k", "m"]), (r"i.a\:\:b::text", ["f"]),
    ],
)  # fmt: skip
def test_selectors_end_as_those_of_scrapy(selector: str, texts: list[str] | None) -> None:
    one = page(
        "<body class=k><p class=m>a <b>b</b> c</p> <a href='/x' title='a, b'>e</a>\n\n<i title='a::text'>f</i> </body>"
        if "\\" not in selector
        else "<i class='a::b'>f</i>"
    )
    if texts is None:
        with pytest.raises(ValueError, match="at once"):
            one.css(selector)
    else:
        assert one.css(selector).texts == texts


def test_a_selection_is_asked_on_as_in_scrapy() -> None:
    one = page("<ul><li class=x>a <b>b</b></li><li class=y><i class=z>c</i> d</li></ul><p> </p>")
    assert [item.css("::text").getall() for item in one.css("li")] == [["a ", "b"], ["c", " d"]]
    assert one.css("li")[0].css("*::text").getall() == ["a ", "b"]
    assert one.css("li").css("::attr(class)").getall() == ["x", "y", "z"]
    assert one.css("li")[1].css("::attr(class)").get() == "y"
    assert one.css("li")[0].xpath("./b/text()").get() == "b"
    assert one.css("li").xpath(".//text()").texts == ["a", "b", "c", "d"]
    assert one.css("ul").xpath("count(./li)").number == 2
    assert one.xpath("//li/text()").xpath("..").getall() == []
    assert one.css("b").get() == "<b>b</b>"
    assert one.css("b, i").getall() == ["<b>b</b>", '<i class="z">c</i>']
    assert one.css("h1").get() is None
    assert one.css("h1").get("none") == "none"
    assert one.css("p::text").texts == []
    with pytest.raises(ValueError, match="is no XPath expression"):
        one.css("li").xpath("./b[")
    assert page().join("page/3") == "https://a.test/shop/page/3"
    assert page().join("https://B.test") == "https://b.test/"
    assert page().join("mailto:me@a.test") is None
    assert page("{}", mime="application/json").join("z") == "https://a.test/x/z"


@pytest.mark.parametrize(
    ("expression", "written"),
    [
        ("123456789", "123456789"), ("0.1 + 0.2", "0.30000000000000004"), ("1234567.891", "1234567.891"),
        ("1 div 0", "Infinity"), ("-1 div 0", "-Infinity"), ("0 div 0", "NaN"), ("0.0000001", "0.0000001"),
        ("10000000000000000000000", "10000000000000000000000"), ("-0", "0"), ("-1.5", "-1.5"),
        ("1 = 1", "true"), ("'x'", "x"),
    ],
)  # fmt: skip
def test_xpath_writes_numbers_with_all_their_digits(expression: str, written: str) -> None:
    assert page().xpath(expression).text == written


ODD = """<html><head><svg><title>drawn</title><base href="/svg/"></svg><template><title>t</title><base href="/t/">
<a href="/in-template">x</a></template><title>own</title></head><body>
<svg><a xlink:href="/drawn">d</a><a href="/drawn2">d</a><template><a href="/svg-template">t</a></template></svg>
<math><a href="/math">m</a><area href="/no"></math><a xlink:href="/no">n</a>
<map><area href="area"></map><a href="rel">r</a><a href="/drawn">again</a><a href="mailto:x@y">m</a></body></html>"""


@pytest.mark.parametrize("base", ["", '<base href="/base/">'])
def test_a_page_has_the_links_the_base_and_the_title_that_the_crawl_finds(base: str) -> None:
    html = ODD.replace("<body>", f"<body>{base}")
    one, url = page(html), parse("https://a.test/x/y")
    assert url is not None
    crawled = Html(Reading()).read(html.encode(), url, "text/html", "")
    found = [link.target for link in crawled.links if link.kind in ("a", "area")]
    assert sorted(one.links) == sorted(found)
    assert one.title == crawled.title == "own"
    assert one.base.text == ("https://a.test/base/" if base else one.url)
    assert one.css("svg a").href == "https://a.test/drawn"


def test_what_is_no_json_is_a_value_error() -> None:
    with pytest.raises(ValueError, match=r"https://a.test/x/y is no JSON"):
        page("<p>").json()
    with pytest.raises(ValueError, match=r"https://a.test/x/y is no JSON"):
        page("[" * 100_000).json()


def test_text_is_as_read_and_can_be_had_exactly() -> None:
    one = page("<pre>a = [\n  <b>-</b>1,\n]</pre><h1>Lamp<i>shade</i></h1><div><p>x</p><p>y</p></div><code> q </code>")
    assert one.css("pre").exact == "a = [\n  -1,\n]"
    assert one.css("pre, code").exacts == ["a = [\n  -1,\n]", " q "]
    assert (one.css("h1").text, one.css("div").text, one.css("pre").text) == ("Lampshade", "x y", "a = [ -1, ]")
    assert one.xpath("//pre/text()").exact == "a = [\n  "
    assert one.css("nothing").exact == ""


def test_main_text_and_markdown() -> None:
    words = "A lamp of brass gives light to the whole room, and it does so for many years. " * 5
    one = page(f"<nav><a href=/>Home</a></nav><article><h1>Lamps</h1><p>{words}</p><p>{words}</p></article><footer>(c)")
    assert "gives light" in one.main_text
    assert "Home" not in one.main_text
    assert "# Lamps" in one.markdown
    assert "[Home](/)" in one.markdown


def test_a_page_on_which_the_librarys_layout_never_returns_is_read() -> None:
    """Found by `make fuzz`: turbohtml 1.15.4 hangs in `to_text` and `main_text` here."""
    body = (Path(__file__).parents[1] / "data" / "layout-hang.html").read_bytes()
    url = parse("http://a.test/")
    assert url is not None
    assert Html(Reading()).read(body, url, "text/html", "").text
    one = page(payload=body)
    assert one.text
    assert isinstance(one.main_text, str)


def test_handlers_of_earlier_versions_have_their_tree() -> None:
    assert [node.text() for node in page().tree.css("li")] == ["one", "two"]


def test_what_is_no_xpath_is_said_so() -> None:
    with pytest.raises(ValueError, match="is no XPath expression"):
        page().xpath("//p[")
    assert page().xpath("/").css("li").texts == ["one", "two"]
    assert page("<p>a<!--b-->").xpath("//comment()").texts == ["b"]


def test_regular_expressions_json_and_data_for_machines() -> None:
    one = page()
    assert one.re(r"<li>(\w+)") == ["one", "two"]
    assert one.json_ld == [
        {"@context": "https://schema.org", "@type": "Product", "name": "Lamp"},
        {"@type": "A"},
        {"@type": "B"},
    ]
    assert one.microdata == [
        {
            "type": "https://schema.org/Product",
            "name": "Lamp",
            "url": "https://a.test/shop/lamp",
            "color": ["red", "blue"],
            "offers": {"type": "https://schema.org/Offer", "price": "12"},
        }
    ]
    assert page('{"a": [1]}', mime="application/json").json() == {"a": [1]}
    assert "Größe" in one.text
    assert "color: red" not in one.text
    assert one.links == ["https://a.test/shop/page/2?x=1", "https://a.test/other", "https://a.test/shop/lamp"]


def test_codings_and_encodings_are_taken_off() -> None:
    packed = page(
        payload=gzip.compress("<p>Größe".encode("latin-1")), headers={"content-encoding": "gzip"}, charset="latin1"
    )
    assert packed.css("p").text == "Größe"
    assert packed.body == "<p>Größe".encode("latin-1")


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("$1,234.56", 1234.56), ("1.234,56 €", 1234.56), ("12", 12.0), ("1,234", 1234.0), ("3,5 kg", 3.5),
        ("1.234.567", 1234567.0), ("-4.5", -4.5), ("\u22127", -7.0), ("1 234,5", 1234.5), ("CHF 1'234.50", 1234.5),
        ("no", None), ("0.99.", 0.99), ("12,", 12.0), ("1.234", 1.234),
        ("-.5", -0.5), ("$.99", 0.99), (".5", 0.5), ("No.5", 5.0), ("so...5", 5.0), ("9" * 400, None), ("a-1", -1.0),
    ],
)  # fmt: skip
def test_numbers_as_people_write_them(text: str, number: float | None) -> None:
    assert number_in(text) == number
