"""Trouble of whole hosts: their names, their addresses, their connections, their certificates.

The DNS server, the listener and the TLS layer look at `Host.trouble`; this table says what each is and what becomes of
the URLs of such a host once a correct crawl has given it up.
"""

from typing import Final

from whimbrel.simweb.exhibit.api import HostExhibit

_DNS: Final = ("failed", "dns")
_PRIVATE: Final = ("failed", "private-address")
_UNREACHABLE: Final = ("denied", "robots-unreachable")

TROUBLES: Final = (
    HostExhibit("dns-nxdomain", "dns", "the name does not exist", *_DNS),
    HostExhibit("dns-servfail", "dns", "SERVFAIL", *_DNS),
    HostExhibit("dns-refused", "dns", "REFUSED", *_DNS),
    HostExhibit("dns-silent", "dns", "no answer at all", *_DNS),
    HostExhibit("dns-empty", "dns", "the name exists and has no address", *_DNS),
    HostExhibit("dns-garbage", "dns", "an answer that is not DNS", *_DNS),
    HostExhibit("dns-cname-loop", "dns", "two names that are each other's alias", *_DNS),
    HostExhibit("dns-private", "dns", "an address in a private network", *_PRIVATE),
    HostExhibit("dns-mapped", "dns", "a private address mapped into IPv6", *_PRIVATE),
    HostExhibit(
        "dns-rebinding", "dns", "a good address to the first two questions, a private one later: pin the first"
    ),
    HostExhibit("dns-recovers", "dns", "SERVFAIL to the first two questions, then an address"),
    HostExhibit("dns-slow", "dns", "answers after one second"),
    HostExhibit("dns-short-ttl", "dns", "answers that may be kept for one second"),
    HostExhibit("dns-changing", "dns", "another address at every question"),
    HostExhibit("dns-cname", "dns", "three aliases, then an address"),
    HostExhibit("dns-truncated", "dns", "UDP answers are cut; TCP has the whole"),
    HostExhibit("dns-many", "dns", "32 addresses"),
    HostExhibit("connect-refused", "connect", "nobody listens", *_UNREACHABLE),
    HostExhibit("connect-silent", "connect", "the address never answers", *_UNREACHABLE),
    HostExhibit("connect-first-silent", "connect", "the first of two addresses never answers"),
    HostExhibit("connect-reset", "connect", "every connection is reset", *_UNREACHABLE),
    HostExhibit("tls-expired", "tls", "a certificate of last year", *_UNREACHABLE),
    HostExhibit("tls-wrong-name", "tls", "a certificate for another name", *_UNREACHABLE),
    HostExhibit("tls-self-signed", "tls", "a certificate that nobody vouches for", *_UNREACHABLE),
    HostExhibit("tls-refused", "tls", "the handshake is refused with an alert", *_UNREACHABLE),
    HostExhibit("tls-absent", "tls", "plain HTTP where TLS is expected", *_UNREACHABLE),
)
