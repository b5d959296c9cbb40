"""A joiner says of every link what the standard's parser says, only sooner."""

from html import unescape

import pytest

from tests.url.odd_links import BASES, HREFS, url
from whimbrel.simweb.exhibit.api import ExhibitPlace
from whimbrel.simweb.exhibit.odd_url import odd_links
from whimbrel.simweb.spec import WebSpec
from whimbrel.simweb.web import Web
from whimbrel.url import Joiner, Url, parse, resolve
from whimbrel.url.join import Joined


@pytest.mark.parametrize("base", BASES, ids=str)
def test_every_odd_link_is_joined_as_the_standard_says(base: Url) -> None:
    joiner = Joiner(base)
    for href in HREFS:
        expected = resolve(base, href)
        assert joiner.join(href) == (None if expected is None else expected.text), href


def test_the_odd_links_of_the_simulated_web_mean_what_it_says() -> None:
    web = Web(WebSpec())
    host = web.hosts.find(web.hosts.name(0))
    assert host is not None
    place = ExhibitPlace(web.hosts, host, "odd-urls")
    joiner = Joiner(url(place.url()))
    for link in odd_links(place):
        assert (joiner.join(unescape(link.href)) or "") == link.url


@pytest.mark.parametrize(
    ("href", "expected"),
    [
        ("/plain?x=1#y", "http://www.example.com/plain?x=1"),
        ("rel/x", "http://www.example.com/a/b/rel/x"),
        ("?x", "http://www.example.com/a/b/c.html?x"),
        ("#x", "http://www.example.com/a/b/c.html?q=1"),
        ("//host.example", "http://host.example/"),
        ("https://host.example?x", "https://host.example/?x"),
        ("/a?", "http://www.example.com/a?"),
        ("mailto:a@b.c", None),
        ("http://1.2.3.256/", None),
    ],
)
def test_a_link_becomes_canonical_text(href: str, expected: str | None) -> None:
    assert Joiner(url("http://www.example.com/a/b/c.html?q=1")).join(href) == expected


def test_long_links_are_not_remembered() -> None:
    joined = Joined()
    joiner = Joiner(url("http://a.test/"), joined)
    before = joined.bytes
    for at in range(1_000):
        joiner.join(f"/{at}-{'a' * 10_000}")
    assert joined.bytes == before
    assert joiner.join("../" * 200_000 + "x") == "http://a.test/x"


def test_a_name_that_no_resolver_takes_is_no_host() -> None:
    assert parse("http://" + "\u4f60" * 4_000 + ".test/") is None
    assert parse("http://" + "%e4%bd%a0" * 400 + ".test/") is None
