"""Parse and resolve. Expected trouble is None, not an exception: the web is full of links that mean nothing."""

import re
from typing import Final

import ada_url
import msgspec

from whimbrel.url.scheme import DEFAULT_PORTS, PREFIXES

_AUTHORITY: Final = 8
"""A slash at or after this place ends the authority: `http://` has 7 characters, and a host has at least one."""
_MAX_FOREIGN_HOST: Final = 255
"""Characters, as written. Names have 253 at most, and to write one in Punycode takes the square of its length."""
_WRITTEN_HOST: Final = re.compile(r"[^/\\?#]*+[/\\]{2,}+(?:[^/\\?#]*@)?([^/\\?#]*)")


class Url(msgspec.Struct, frozen=True, gc=False):
    """`text` is the whole URL; the other fields are its parts. `host` has brackets when it is an IPv6 address."""

    text: str
    scheme: str
    host: str
    port: int
    target: str
    """Path and query, as sent in a request line."""

    @property
    def site(self) -> str:
        """Scheme, host and port: what robots.txt and politeness are about."""
        return f"{self.scheme}://{self.host}:{self.port}"

    @property
    def at_default_port(self) -> bool:
        return self.port == DEFAULT_PORTS[self.scheme]

    def __str__(self) -> str:
        return self.text


def parse(text: str) -> Url | None:
    """An absolute URL; None when it is not one, or not http or https."""
    found = canonical(text)
    return None if found is None else restore(found)


def resolve(base: Url, href: str) -> Url | None:
    """A link as written in a document, made absolute; None when it leads nowhere a crawler goes."""
    found = canonical(href, base.text)
    return None if found is None else restore(found)


def canonical(text: str, base: str | None = None) -> str | None:
    """The text of the URL that a link means, by the standard's own parser; None as above."""
    if len(text) > _MAX_FOREIGN_HOST and _has_long_foreign_host(text):
        return None
    try:
        href = ada_url.normalize_url(text) if base is None else ada_url.join_url(base, text)
    except ValueError:  # Lone surrogates are among them.
        return None
    if not href.startswith(PREFIXES):
        return None
    # Credentials in a link are never sent, and a fragment never leaves the client. An empty query is sent.
    href = href.partition("#")[0]
    if "@" in href:
        end = href.index("/", _AUTHORITY)
        at = href.rfind("@", 0, end)
        if at >= 0:
            href = href[: href.index("/") + 2] + href[at + 1 :]
    return href


def _has_long_foreign_host(text: str) -> bool:
    written = _WRITTEN_HOST.match(text)
    host = "" if written is None else written[1]
    return len(host) > _MAX_FOREIGN_HOST and (not host.isascii() or "%" in host)


def restore(text: str) -> Url:
    """The parts of a text that came out of `parse`, `resolve` or a `Joiner`. Nothing is checked: not for texts
    from outside."""
    end = text.index("/", _AUTHORITY)
    colon = text.index(":")
    scheme, host = text[:colon], text[colon + 3 : end]
    port = DEFAULT_PORTS[scheme]
    if ":" in host and host[-1] != "]":
        host, _, digits = host.rpartition(":")
        port = int(digits)
    return Url(text, scheme, host, port, text[end:])
