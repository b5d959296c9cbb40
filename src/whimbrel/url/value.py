"""Parse and resolve. Expected trouble is None, not an exception: the web is full of links that mean nothing."""

from typing import Final

import msgspec

from whimbrel.url.canonical import canonical
from whimbrel.url.scheme import DEFAULT_PORTS

_AUTHORITY: Final = 8
"""A slash at or after this place ends the authority: `http://` has 7 characters, and a host has at least one."""


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
    def origin(self) -> str:
        """What the text begins with, up to the path."""
        return self.text[: len(self.text) - len(self.target)]

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
