"""A file of cookies follows its own rules; a proxy's password is for the proxy."""

from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.command import run
from tests.credential.witness import NAMES, Witness, leaks, links, listening, port_of, requests_on_record
from whimbrel.simweb.server.certificate import Authority

OWN = ("--delay", "0s", "--allow-network", "127.0.0.0/8", "--scope", "any")
FOREVER = 32_503_680_000
COOKIES = (
    ("a.test", "FALSE", "/", "FALSE", FOREVER, "host-only"),
    (".b.test", "TRUE", "/", "FALSE", FOREVER, "domain-wide"),
    ("a.test", "FALSE", "/deep", "FALSE", FOREVER, "deep-only"),
    ("a.test", "FALSE", "/", "TRUE", FOREVER, "tls-only"),
    ("a.test", "FALSE", "/", "FALSE", 1, "expired"),
)


@pytest.fixture
def witness() -> Witness:
    return Witness()


@pytest.fixture
def mine(witness: Witness) -> Iterator[str]:
    with listening(witness) as origin:
        yield origin


def test_cookies_of_a_file_go_where_domain_path_security_and_age_allow_and_are_not_kept(
    witness: Witness, mine: str, tmp_path: Path
) -> None:
    file = tmp_path / "cookies.txt"
    file.write_text("".join("\t".join(map(str, cookie)) + f"\tsecret-{cookie[-1]}\n" for cookie in COOKIES))
    hosts = ("a.test", "sub.a.test", "b.test", "sub.b.test", "xb.test", "a.test.b.example")
    (tmp_path / "hosts").write_text(f"127.0.0.1 {' '.join(hosts)}\n")
    authority, port, into = Authority(tmp_path), port_of(mine), tmp_path / "out"
    with listening(witness, authority=authority) as secure:
        assert "a.test" in NAMES
        seeds = [*(f"http://{host}:{port}/" for host in hosts), f"http://a.test:{port}/deep/er"]
        seeds.append(f"https://a.test:{port_of(secure)}/")
        options = (
            "--cookies",
            str(file),
            "--ca",
            str(authority.path),
            "--set",
            f"resolver.hosts_file={tmp_path}/hosts",
        )
        done = run("crawl", *seeds, "--into", str(into), *options, *OWN)
    assert done.code == 0, done.words
    sent = {
        (one.origin.partition(":")[0], (one.get("Host") or "").rpartition(":")[0], one.path): one.get("Cookie")
        for one in witness.received
        if one.path != "/robots.txt"
    }
    assert sent == {
        ("http", "a.test", "/"): "host-only=secret-host-only",
        ("http", "a.test", "/deep/er"): "deep-only=secret-deep-only; host-only=secret-host-only",
        ("http", "sub.a.test", "/"): None,
        ("http", "b.test", "/"): "domain-wide=secret-domain-wide",
        ("http", "sub.b.test", "/"): "domain-wide=secret-domain-wide",
        ("http", "xb.test", "/"): None,
        ("http", "a.test.b.example", "/"): None,
        ("https", "a.test", "/"): "host-only=secret-host-only; tls-only=secret-tls-only",
    }
    heads = requests_on_record(into)
    assert sum("\r\nCookie: redacted\r\n" in head for head in heads) == 5
    assert leaks(into, "secret-") == []
    assert run("verify", str(into)).code == 0


@pytest.mark.parametrize("way", ["url", "header"])
def test_the_password_of_a_proxy_goes_to_the_proxy_and_no_record_has_it(
    witness: Witness, mine: str, tmp_path: Path, way: str
) -> None:
    """The proxy is a witness that answers itself; it is asked for http in full, and with CONNECT for https."""
    login = "me:password-of-proxy"
    basic = "Basic " + b64encode(login.encode()).decode()
    proxy = mine.replace("://", f"://{login}@") if way == "url" else mine
    given = ("--proxy", proxy, *(("--header", f"proxy-authorization: {basic}") if way == "header" else ()))
    (tmp_path / "hosts").write_text("127.0.0.1 a.test b.test\n")
    named = ("--set", f"resolver.hosts_file={tmp_path / 'hosts'}")
    into = tmp_path / "out"
    witness.pages = {"http://a.test/": links("http://b.test/"), "http://b.test/": links()}
    done = run(
        "crawl", "http://a.test/", "--into", str(into), *given, *named, "--header", "Cookie: cookie-of-test", *OWN
    )
    assert done.code == 0, done.words
    assert {one.path for one in witness.received} >= {"http://a.test/", "http://b.test/"}
    for one in witness.received:
        assert one.get("Proxy-Authorization") == basic
        assert one.get("Cookie") == ("cookie-of-test" if "a.test" in one.path else None)
    heads = requests_on_record(into)
    assert all("\r\nProxy-Authorization: redacted\r\n".lower() in head.lower() for head in heads)
    secrets = ("password-of-proxy", basic.removeprefix("Basic "), "cookie-of-test")
    assert leaks(into, *secrets) == []
    shown = run("config", "show", str(into)).out + run("config", "show", str(into), "--json").out
    assert not any(secret in text for secret in secrets for text in (shown, done.out, done.err))


def test_the_password_of_a_proxy_stays_outside_of_the_tunnel(witness: Witness, mine: str, tmp_path: Path) -> None:
    """A proxy of the test's own, that passes bytes on after CONNECT."""
    from tests.credential.tunnel import tunnel

    authority = Authority(tmp_path)
    (tmp_path / "hosts").write_text("127.0.0.1 a.test\n")
    with listening(witness, authority=authority) as secure, tunnel(port_of(secure)) as (proxy, heads):
        seed = f"https://a.test:{port_of(secure)}/"
        given = ("--proxy", f"http://me:password-of-proxy@127.0.0.1:{proxy}", "--header", "Authorization: for-a-test")
        more = ("--ca", str(authority.path), "--set", f"resolver.hosts_file={tmp_path / 'hosts'}")
        done = run("crawl", seed, "--into", str(tmp_path / "out"), *given, *more, *OWN)
    assert witness.received, done.words
    assert all("Proxy-Authorization: Basic" in head and "for-a-test" not in head for head in heads)
    assert all(one.get("Proxy-Authorization") is None for one in witness.received)
    assert {one.get("Authorization") for one in witness.received} == {"for-a-test"}
    assert leaks(tmp_path / "out", "password-of-proxy", "for-a-test", b64encode(b"me:password-of-proxy").decode()) == []
