"""URLs are read as the WHATWG standard says, and nothing a server may tell apart is merged."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whimbrel.url import parse, resolve

BASE = parse("http://www.example.com/a/b/c.html?q=1")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("HTTP://WWW.Example.COM:80/A/../b?Q#frag", "http://www.example.com/b?Q"),
        ("https://user:secret@example.com/", "https://example.com/"),
        ("http://bücher.example/ü", "http://xn--bcher-kva.example/%C3%BC"),
        ("http://012.0.0.01/", "http://10.0.0.1/"),
        ("http://[::FFFF:10.0.0.1]:8080/", "http://[::ffff:a00:1]:8080/"),
        ("http://example.com/?", "http://example.com/?"),
        ("http://example.com/%7Euser/%zz", "http://example.com/%7Euser/%zz"),
    ],
)
def test_an_absolute_url_is_normalised_as_the_standard_says(text: str, expected: str) -> None:
    url = parse(text)
    assert url is not None
    assert url.text == expected


@pytest.mark.parametrize(
    "text", ["ftp://example.com/", "javascript:alert(1)", "mailto:a@b.c", "http://", "http://[::1", ""]
)
def test_what_is_not_http_is_none(text: str) -> None:
    assert parse(text) is None


@pytest.mark.parametrize(
    ("href", "expected"),
    [
        ("d.html", "http://www.example.com/a/b/d.html"),
        ("../x?y=1&z", "http://www.example.com/a/x?y=1&z"),
        ("//other.example/p", "http://other.example/p"),
        ("?only=query", "http://www.example.com/a/b/c.html?only=query"),
        ("#top", "http://www.example.com/a/b/c.html?q=1"),
        ("\\x\\y", "http://www.example.com/x/y"),
        ("  /white\n\tspace ", "http://www.example.com/whitespace"),
    ],
)
def test_a_link_is_resolved_against_its_base(href: str, expected: str) -> None:
    assert BASE is not None
    url = resolve(BASE, href)
    assert url is not None
    assert url.text == expected


def test_parts_are_what_a_request_needs() -> None:
    url = parse("https://example.com/path/?query=1")
    assert url is not None
    assert (url.scheme, url.host, url.port, url.target) == ("https", "example.com", 443, "/path/?query=1")
    assert url.site == "https://example.com:443"


@given(st.text(alphabet=string.printable + "äé%/?#\\", max_size=60))
def test_parsing_is_idempotent_and_never_raises(path: str) -> None:
    url = parse("http://example.com/" + path)
    assert url is not None
    again = parse(url.text)
    assert again == url


@given(st.text(max_size=80))
def test_any_text_is_a_url_or_none(text: str) -> None:
    assert BASE is not None
    for url in (parse(text), resolve(BASE, text)):
        if url is not None:
            assert url.text.startswith(f"{url.scheme}://{url.host}")
            assert "#" not in url.text
