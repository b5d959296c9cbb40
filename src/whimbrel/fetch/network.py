"""Which addresses may be connected to.

A crawler follows links that strangers wrote, so an address inside somebody's own network is never asked for by
accident: only global unicast addresses are, and what the operator lists. The list of what is not global is written out
(IANA's registries of special-purpose addresses, RFC 6890 and its updates), because that of `ipaddress` differs between
versions of Python.
"""

import ipaddress
from collections.abc import Iterable
from typing import Final

from whimbrel.url import Url

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address
_Network = ipaddress.IPv4Network | ipaddress.IPv6Network
_MAX_KNOWN: Final = 65_536
_LOOPBACK: Final = (ipaddress.IPv4Network("127.0.0.0/8"), ipaddress.IPv6Network("::1/128"))

_SPECIAL_4: Final = tuple(
    map(
        ipaddress.IPv4Network,
        (
            *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12"),
            *("192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24"),
            *("203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4"),
        ),
    )
)
_GLOBAL_6: Final = ipaddress.IPv6Network("2000::/3")
"""All that IANA has given out for unicast; everything else is special or unused."""
_SPECIAL_6: Final = tuple(map(ipaddress.IPv6Network, ("2001::/23", "2001:db8::/32", "3fff::/20")))
_SIX_TO_FOUR: Final = ipaddress.IPv6Network("2002::/16")
_NAT64: Final = ipaddress.IPv6Network("64:ff9b::/96")


class Networks:
    """Judges addresses and remembers up to 65,536 judgements; when they are too many it forgets all."""

    def __init__(self, allowed: Iterable[str] = (), hosts: Iterable[str] = ()) -> None:
        """`allowed`: networks that may be connected to although they are not global. ValueError when one is none.
        `hosts`: HOST:PORT of servers that may be, for URLs with this very host and port (`own_networks`).

        They are compared with the address as it is written: 10.0.0.0/8 does not allow ::ffff:10.0.0.1.
        """
        self._own = {named: own_networks(named.rpartition(":")[0]) for named in hosts}
        self._allowed = tuple(map(ipaddress.ip_network, allowed))
        self._known: dict[str, bool] = {}

    def allows(self, address: str) -> bool:
        """False too for what is no address."""
        known = self._known.get(address)
        if known is None:
            known = self._judge(address)
            if len(self._known) >= _MAX_KNOWN:
                self._known.clear()
            self._known[address] = known
        return known

    def allows_for(self, url: Url, address: str) -> bool:
        """The same for a request: a host that was named may be asked at its own private addresses."""
        if self.allows(address):
            return True
        networks = self._own.get(f"{url.host}:{url.port}") if self._own else None
        return bool(networks) and _is_in(address, networks or ())

    def _judge(self, text: str) -> bool:
        try:
            address = ipaddress.ip_address(text)
        except ValueError:
            return False
        return any(address in network for network in self._allowed) or is_global(address)


def own_networks(host: str) -> tuple[_Network, ...]:
    """The private networks that a host of a URL means by itself: an address itself, `localhost` and the names under it
    loopback. Empty for other names, and for addresses that are global."""
    if host == "localhost" or host.endswith(".localhost"):
        return _LOOPBACK
    try:
        address = ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return ()
    return () if is_global(address) else (ipaddress.ip_network(address),)


def _is_in(text: str, networks: Iterable[_Network]) -> bool:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return False
    return any(address in network for network in networks)


def is_global(address: _Address) -> bool:
    """Whether anybody on the Internet may have this address. One that embeds an IPv4 address leads there, so it is
    judged by that; mapped ones (::ffff:0:0/96) never come from an honest server and are not global."""
    if isinstance(address, ipaddress.IPv4Address):
        return not any(address in network for network in _SPECIAL_4)
    if address.scope_id is not None:
        return False
    if address in _NAT64:
        return is_global(ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF))
    if address in _SIX_TO_FOUR:
        return is_global(ipaddress.IPv4Address(int(address) >> 80 & 0xFFFF_FFFF))
    return address in _GLOBAL_6 and not any(address in network for network in _SPECIAL_6)
