"""Which addresses may be connected to."""

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whimbrel.fetch.network import Networks, is_global

REFUSED = (
    *("0.0.0.0", "0.1.2.3", "10.0.0.1", "10.255.255.255", "100.64.0.1", "100.127.255.255", "127.0.0.1", "127.255.0.1"),
    *("169.254.169.254", "172.16.0.1", "172.31.255.255", "192.0.0.1", "192.0.2.1", "192.88.99.1", "192.168.1.1"),
    *("198.18.0.1", "198.19.255.255", "198.51.100.7", "203.0.113.9", "224.0.0.1", "239.255.255.255", "240.0.0.1"),
    *("255.255.255.255", "::", "::1", "::7f00:1", "fe80::1", "fe80::1%eth0", "fec0::1", "fc00::1", "fd00::1"),
    *("ff02::1", "2001:db8::1", "2001::1", "2001:10::1", "3fff::1", "100::1", "4000::1", "64:ff9b:1::a00:1"),
    *("::ffff:10.0.0.1", "::ffff:127.0.0.1", "::ffff:8.8.8.8", "::ffff:a00:1"),
    *("2002:7f00:1::", "2002:a00:1::1", "2002:c0a8:101::", "64:ff9b::10.0.0.1", "64:ff9b::7f00:1"),
    *("", "a.test", "1.2.3", "0177.0.0.1", "2130706433", "0x7f000001", "[::1]", "127.0.0.1:80", "127.0.0.1 "),
)
GLOBAL = (
    *("1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255"),
    *("128.0.0.0", "172.15.255.255", "172.32.0.0", "192.167.255.255", "192.169.0.0", "223.255.255.255"),
    *("2606:4700::1111", "2a00:1450::1", "2002:808:808::", "64:ff9b::8.8.8.8"),
)


@pytest.mark.parametrize("address", REFUSED)
def test_what_is_not_global_is_refused(address: str) -> None:
    assert not Networks().allows(address)


@pytest.mark.parametrize("address", GLOBAL)
def test_what_is_global_is_allowed(address: str) -> None:
    assert Networks().allows(address)


def test_a_listed_network_is_allowed_and_nothing_beside_it() -> None:
    networks = Networks(("127.0.0.0/8", "fd00::/8", "::ffff:10.0.0.0/104"))
    assert networks.allows("127.9.9.9")
    assert networks.allows("fd12::1")
    assert networks.allows("::ffff:10.0.0.1")
    for address in ("10.0.0.1", "::1", "::ffff:127.0.0.1", "2002:7f00:1::", "fc00::1", "126.0.0.1.1"):
        assert not networks.allows(address), address


def test_a_network_that_is_none_is_an_error_when_the_judge_is_made() -> None:
    with pytest.raises(ValueError, match="host bits"):
        Networks(("127.0.0.1/8",))


@given(st.ip_addresses())
def test_whatever_python_calls_private_or_special_is_refused(
    address: ipaddress.IPv4Address | ipaddress.IPv6Address,
) -> None:
    special = address.is_private or address.is_loopback or address.is_link_local or address.is_multicast
    if special or address.is_reserved or address.is_unspecified:
        # Those that embed an IPv4 address are judged by it; versions of Python differ about them.
        embedding = map(ipaddress.ip_network, ("64:ff9b::/96", "2002::/16"))
        assert any(address in network for network in embedding) or not is_global(address)


@given(st.ip_addresses(v=4))
def test_an_address_inside_an_address_is_judged_as_it_is_outside(address: ipaddress.IPv4Address) -> None:
    number, networks = int(address), Networks()
    allowed = networks.allows(str(address))
    assert networks.allows(str(ipaddress.IPv6Address(0x2002 << 112 | number << 80))) is allowed
    assert networks.allows(str(ipaddress.IPv6Address((0x64FF9B << 96) | number))) is allowed
    assert not networks.allows(f"::ffff:{address}")


def test_no_more_judgements_are_kept_than_the_bound() -> None:
    networks = Networks()
    for number in range(70_000):
        networks.allows(str(ipaddress.IPv4Address(number << 4)))
    assert len(networks._known) <= 65_536
