"""Every host trouble through the whole served web: names with dig, connections and certificates with curl.

How the DNS server behaves in detail is in `test_dns`; how certificates are made is in `test_certificate`.
"""

import re
from collections.abc import Callable
from itertools import pairwise

import pytest

from tests.simweb.conftest import Seen, Served
from whimbrel.simweb.exhibit import TROUBLES
from whimbrel.simweb.host import DEAD_ADDRESS

Check = Callable[[Served, str], None]
"""Takes the web and the name of a host."""

PRIVATE = "10.1.2.3"
# Exit codes of curl.
REFUSED, TIMEOUT, HANDSHAKE_FAILED, RESET, NOT_TRUSTED = 7, 28, 35, 56, 60


def addresses(web: Served, name: str) -> list[str]:
    return list(web.host(name).addresses)


def fetched(web: Served, name: str, address: str, *options: str) -> Seen:
    """The root of a host, from an address that DNS gave."""
    url = web.url(name)
    return web.curl(url, "--resolve", f"{name}:{web.host(name).port}:{address}", *options)


def fails(status: str) -> Check:
    def check(web: Served, name: str) -> None:
        seen = web.dig(name)
        assert (seen.status, seen.answer) == (status, ())

    return check


def has_address(web: Served, name: str, *options: str) -> None:
    """The host's own addresses are answered, and its pages are there."""
    seen = web.dig(name, *options)
    assert (seen.status, seen.addresses) == ("NOERROR", addresses(web, name))
    assert fetched(web, name, seen.addresses[0]).status == 200


def silent(web: Served, name: str) -> None:
    seen = web.dig(name, "+time=1")
    assert seen.status == ""
    assert "timed out" in seen.text or "no servers could be reached" in seen.text


def garbage(web: Served, name: str) -> None:
    assert "Got bad packet" in web.dig(name).text


def alias_loop(web: Served, name: str) -> None:
    owners = [(owner, data) for owner, _, _, data in web.dig(name).answer]
    assert owners == [(f"{name}.", f"alias-0.{name}."), (f"alias-0.{name}.", f"{name}.")]


def private(web: Served, name: str) -> None:
    assert web.dig(name).addresses == [PRIVATE]


def mapped(web: Served, name: str) -> None:
    assert web.dig(name).addresses == []
    assert web.dig(name, "AAAA").addresses == [f"::ffff:{PRIVATE}"]


def rebinding(web: Served, name: str) -> None:
    good, _, bad = web.dig(name), web.dig(name), web.dig(name)
    assert (good.addresses, bad.addresses) == (addresses(web, name), [PRIVATE])
    assert fetched(web, name, good.addresses[0]).status == 200


def recovers(web: Served, name: str) -> None:
    assert [web.dig(name).status for _ in range(2)] == ["SERVFAIL", "SERVFAIL"]
    has_address(web, name)


def slow(web: Served, name: str) -> None:
    took = re.search(r"Query time: (\d+) msec", web.dig(name).text)
    assert took is not None
    assert int(took[1]) >= 990
    has_address(web, name)


def short_ttl(web: Served, name: str) -> None:
    assert {ttl for _, ttl, _, _ in web.dig(name).answer} == {1}
    has_address(web, name)


def changing(web: Served, name: str) -> None:
    seen = [web.dig(name).addresses for _ in range(3)]
    assert all(before != after for before, after in pairwise(seen))
    for (address,) in seen:
        assert fetched(web, name, address).status == 200


def alias_chain(web: Served, name: str) -> None:
    assert [kind for _, _, kind, _ in web.dig(name).answer] == ["CNAME", "CNAME", "CNAME", "A"]
    has_address(web, name)


def truncated(web: Served, name: str) -> None:
    cut = web.dig(name, "+ignore")
    assert re.search(r"flags: [a-z ]*\btc\b", cut.text)
    assert cut.answer == ()
    has_address(web, name, "+tcp")


def many(web: Served, name: str) -> None:
    seen = web.dig(name).addresses
    assert len(set(seen)) == 32
    for address in (seen[0], seen[-1]):
        assert fetched(web, name, address).status == 200


def exits(code: int, reason: str, *options: str) -> Check:
    """DNS has the host's addresses; what follows fails, for every page, and says why."""

    def check(web: Served, name: str) -> None:
        assert sorted(web.dig(name).addresses) == sorted(addresses(web, name))
        seen = web.curl(web.url(name), *options)
        assert (seen.exit_code, seen.status) == (code, 0)
        assert re.search(reason, seen.errors, re.IGNORECASE)

    return check


def first_silent(web: Served, name: str) -> None:
    first, second = addresses(web, name)
    assert first == DEAD_ADDRESS
    assert sorted(web.dig(name).addresses) == sorted((first, second))
    assert fetched(web, name, first, "-m", "1.5").exit_code == TIMEOUT
    assert fetched(web, name, second).status == 200


def trusted_if_unchecked(reason: str) -> Check:
    """A strict client refuses the certificate; one that does not look gets the page."""

    def check(web: Served, name: str) -> None:
        exits(NOT_TRUSTED, reason)(web, name)
        assert web.curl(web.url(name), "--insecure").status == 200

    return check


CHECKS: dict[str, Check] = {
    "dns-nxdomain": fails("NXDOMAIN"),
    "dns-servfail": fails("SERVFAIL"),
    "dns-refused": fails("REFUSED"),
    "dns-silent": silent,
    "dns-empty": fails("NOERROR"),
    "dns-garbage": garbage,
    "dns-cname-loop": alias_loop,
    "dns-private": private,
    "dns-mapped": mapped,
    "dns-rebinding": rebinding,
    "dns-recovers": recovers,
    "dns-slow": slow,
    "dns-short-ttl": short_ttl,
    "dns-changing": changing,
    "dns-cname": alias_chain,
    "dns-truncated": truncated,
    "dns-many": many,
    "connect-refused": exits(REFUSED, "connect"),
    "connect-silent": exits(TIMEOUT, "timed out|timeout", "-m", "1.5"),
    "connect-first-silent": first_silent,
    "connect-reset": exits(RESET, "reset by peer"),
    "tls-expired": trusted_if_unchecked("certificate has expired"),
    "tls-wrong-name": trusted_if_unchecked("no alternative certificate subject name matches"),
    "tls-self-signed": trusted_if_unchecked("self.signed certificate"),
    "tls-refused": exits(HANDSHAKE_FAILED, "alert handshake failure"),
    "tls-absent": exits(HANDSHAKE_FAILED, "wrong version number", "-m", "1.5"),
}


def test_every_trouble_of_the_catalogue_is_observed_here() -> None:
    assert set(CHECKS) == set(TROUBLES)


@pytest.mark.parametrize("trouble", CHECKS)
def test_a_plain_client_sees_what_the_catalogue_says(small: Served, trouble: str) -> None:
    CHECKS[trouble](small, small.host(trouble).name)


@pytest.mark.parametrize("number", range(12))
def test_a_host_without_trouble_is_where_dns_says(small: Served, number: int) -> None:
    host = small.web.hosts.get(number)
    seen = small.dig(host.name)
    assert sorted(seen.addresses) == sorted(host.addresses)
    assert fetched(small, host.name, seen.addresses[0]).status == 200
