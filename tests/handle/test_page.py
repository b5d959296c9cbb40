"""What handlers can ask a page."""

import gzip
from typing import Any

import pytest

from whimbrel.handle.page import Page, RawPage
from whimbrel.handle.select import number_in

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
    ],
)  # fmt: skip
def test_numbers_as_people_write_them(text: str, number: float | None) -> None:
    assert number_in(text) == number
