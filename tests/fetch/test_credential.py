"""The policy itself: pure functions of headers and origins."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fetch.rig import url
from whimbrel.fetch.credential import (
    NO_HEADERS,
    Credentials,
    is_credential,
    origin,
    redacted_head,
    redacted_lines,
    redacted_setting,
)
from whimbrel.fetch.request_header import header_lines
from whimbrel.url.userinfo import redacted_text, redacted_url, userinfo, without_userinfo


@pytest.mark.parametrize(
    "name",
    [
        *("Authorization", "authorization", "PROXY-AUTHORIZATION", "Cookie", "Cookie2", "X-Api-Key", "apikey"),
        *("X-Auth-Token", "X-Access-Token", "Private-Token", "X-Amz-Security-Token", "X-Goog-Api-Key", "X-Session-Id"),
        *("Ocp-Apim-Subscription-Key", "CF-Access-Client-Secret", "X-CSRF-Token", "X-Password", "X-JWT-Assertion"),
    ],
)
def test_names_of_secrets(name: str) -> None:
    assert is_credential(name)


def test_ordinary_headers_are_no_secrets_and_neither_are_our_own() -> None:
    ours = [line.partition(":")[0] for line in header_lines("agent", {})]
    for name in (
        *ours,
        "Host",
        "Accept-Language",
        "From",
        "Referer",
        "DNT",
        "X-Plain",
        "Content-Type",
        "If-None-Match",
    ):
        assert not is_credential(name)
    for name in ("Signature", "Signature-Input", "Signature-Agent"):
        assert not is_credential(name), "bots that sign their requests sign all of them"


def test_an_origin_is_scheme_host_and_port_however_it_is_spelt() -> None:
    found = Credentials({"Cookie": "a"}, ["HTTPS://Bücher.example", "http://[0:0::1]:8080/x?y", "http://0x7f.1"])
    for text in ("https://xn--bcher-kva.example:443/z", "http://[::1]:8080/", "http://127.0.0.1:80/"):
        assert found.of(url(text)) == {"Cookie": "a"}
    for text in (
        "http://xn--bcher-kva.example/",
        "http://xn--bcher-kva.example:443/",
        "https://xn--bcher-kva.example:444/",
        "https://www.xn--bcher-kva.example/",
        "https://xn--bcher-kva.example./",
        "https://xn--bcher-kva.example.evil.test/",
        "https://evil.test/https://xn--bcher-kva.example/",
        "https://xn--bcher-kva.example@evil.test/",
        "http://[::1]/",
        "http://[::ffff:127.0.0.1]/",
    ):
        assert found.of(url(text)) is NO_HEADERS


def test_a_credential_without_an_origin_goes_nowhere() -> None:
    found = Credentials({"Cookie": "a", "X-Plain": "b", "Proxy-Authorization": "c"})
    assert not found
    assert found.ordinary == {"X-Plain": "b"}
    assert found.proxy == {"Proxy-Authorization": "c"}
    assert Credentials({"X-Plain": "b"}, ["http://a.test"]).of(url("http://a.test/")) is NO_HEADERS
    for wrong in ("a.test", "ftp://a.test", "*", ""):
        with pytest.raises(ValueError, match="is not an origin"):
            Credentials({}, [wrong])


def test_heads_and_lines_show_a_word_in_place_of_a_secret() -> None:
    head = (
        b"GET /token:x?u=http://a:b@c HTTP/1.1\r\nHost: key.test\r\nCOOKIE:a\r\n\tb\r\nX: y\r\nX-Key : z\r\nX-Auth\r\n"
    )
    kept = b"GET /token:x?u=http://a:b@c HTTP/1.1\r\nHost: key.test\r\nCOOKIE: redacted\r\nX: y\r\nX-Key : redacted\r\n"
    assert redacted_head(head) == kept + b"X-Auth\r\n"
    assert redacted_head(b"GET http://a:b@c/d@e HTTP/1.1\r\n") == b"GET http://c/d@e HTTP/1.1\r\n"
    assert redacted_lines(["Cookie: a", "X: key", "Cookie"]) == ["Cookie: redacted", "X: key", "redacted"]


@given(st.binary(max_size=300))
def test_what_is_redacted_stays_as_it_is(head: bytes) -> None:
    once = redacted_head(head)
    assert redacted_head(once) == once


def test_settings_are_shown_without_secrets_wherever_they_stand() -> None:
    given = {
        "seeds": ["https://me:word@a.test/@x", "b.test"],
        "header": ["Cookie: word", "X: y"],
        "proxy": "socks5://me:word@p.test:1080",
        "cookies": "/home/me/cookies.txt",
        "contact": "mailto:me@a.test",
        "user_agent": "bot/1 (+https://a.test; me@a.test)",
        "delays": {"monkey.test": 2.0},
        "set": {"transport": {"headers": {"Cookie": "word", "X": "y"}, "authorizations": {"http://a.test": "word"}}},
    }
    shown = redacted_setting("options", given)
    assert "word" not in repr(shown)
    assert shown["seeds"] == ["https://redacted@a.test/@x", "b.test"]
    assert shown["header"] == ["Cookie: redacted", "X: y"]
    for same in ("cookies", "contact", "user_agent"):
        assert shown[same] == given[same]
    assert shown["set"]["transport"]["headers"] == {"Cookie": "redacted", "X": "y"}
    assert origin("https://a.test/") == "https://a.test:443"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("https://a.test/x@y", "https://a.test/x@y"),
        ("https://me:wo%40rd@a.test:8443/x@y", "https://redacted@a.test:8443/x@y"),
        (r"https:\\me:word@a.test", "redacted@a.test"),
        ("me:word@a.test", "redacted@a.test"),
        ("http://me:wo/rd@a.test", "http://redacted@a.test"),
        ("me@x://a", "redacted@x://a"),
    ],
)
def test_a_url_is_shown_without_its_password_also_when_it_is_none(text: str, shown: str) -> None:
    assert redacted_url(text) == shown


def test_user_and_password_are_decoded() -> None:
    assert userinfo("https://m%65:p%3A%ff@a.test/") == (b"me", b"p:\xff")
    assert userinfo("https://:@a.test/") is None
    assert userinfo("https://a.test/@b") is None
    assert userinfo("@") is None
    assert without_userinfo("http://a:b@c/?d=http://e:f@g") == "http://c/?d=http://e:f@g"
    assert redacted_text("see http://a:b@c/ and d@e") == "see http://redacted@c/ and d@e"
