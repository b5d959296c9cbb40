"""SURT is spelt as cdxj-indexer spells it."""

import subprocess
import sys

import pytest

from tests.url.odd_links import BASES, HREFS, url
from whimbrel.url import Joiner
from whimbrel.url.surt import surt

SESSION = "0123456789abcdef" * 2
SAMPLES = (
    "http://archive.org/goo/?a=2&b&a=1",
    "https://WWW23.example.com:8080/A/B/?Z=1&y=2",
    "http://www.www.example.com/",
    "http://www./",
    "http://example.com:0/",
    "https://example.com:80/",
    "http://./a//b",
    "http://a...b/",
    "http://a.b../x",
    "http://[2001:db8::1]/x",
    "http://[2001:db8::1]:8080/x",
    "http://10.1.2.3/x",
    "http://example.com/a//b///c//",
    "http://example.com/a%2F..%2Fb/%2e%2e/%2e%2e/%2e%2e/c",
    "http://example.com/%2525252e/%25/%zz%4",
    "http://example.com/%C3%BC%ff%00%0a?%C3%BC%ff%00%0a%26a=%3D",
    "http://example.com/a?%",
    "http://example.com/a%3fb%23c?d%23e",
    "http://example.com/?",
    "http://example.com?&&b&=&a",
    "http://example.com/?b=2=1&b=1=2&b",
    f"http://example.com/?jsessionid={SESSION}&a=1",
    f"http://example.com/?a=1&PHPSESSID={SESSION}",
    f"http://example.com/?a=1&sid={SESSION}&b=2",
    f"http://example.com/?sid={SESSION}",
    f"http://example.com/?sid={SESSION}0",
    f"http://example.com/?ASPSESSIONIDabcdefgh={'A' * 24}&x",
    "http://example.com/?x&cfid=1&cftoken=2&y",
    f"http://example.com/x;jsessionid={SESSION}",
    f"http://example.com/({'a1' * 12})/page.aspx?x=1",
    f"http://example.com/(S({'a1' * 12}))/Page.ASPX",
    f"http://example.com/a/(A({'a1' * 12})F({'b2' * 12}))/page.aspx/b",
)


def test_it_equals_what_cdxj_indexer_writes() -> None:
    library = pytest.importorskip("surt")
    texts = {text for base in BASES for href in HREFS if (text := Joiner(base).join(href)) is not None}
    texts |= {url(text).text for text in SAMPLES}
    wrong = {text: (surt(text), library.surt(text)) for text in sorted(texts) if surt(text) != library.surt(text)}
    assert wrong == {}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("http://archive.org/goo/?a=2&b&a=1", "org,archive)/goo?a=1&a=2&b"),
        ("https://www.example.com/", "com,example)/"),
        ("http://example.com:8080/X?", "com,example:8080)/x"),
        ("urn:uuid:1", "urn:uuid:1"),
    ],
)
def test_a_host_is_reversed_and_a_query_sorted(text: str, expected: str) -> None:
    assert surt(text) == expected


def test_the_library_is_not_needed() -> None:
    code = "import sys; sys.modules['surt'] = None; from whimbrel.url.surt import surt; print(surt('http://a.b/'))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout == b"b,a)/\n"
