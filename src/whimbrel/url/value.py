"""Parse and resolve. Expected trouble is None, not an exception: the web is full of links that mean nothing."""

from typing import Final

import ada_url
import msgspec

_SCHEMES: Final = {"http:": 80, "https:": 443}


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

    def __str__(self) -> str:
        return self.text


def parse(text: str) -> Url | None:
    """An absolute URL; None when it is not one, or not http or https."""
    return _parse(text, None)


def resolve(base: Url, href: str) -> Url | None:
    """A link as written in a document, made absolute; None when it leads nowhere a crawler goes."""
    return _parse(href, base.text)


def _parse(text: str, base: str | None) -> Url | None:
    try:
        url = ada_url.URL(text, base)
    except (ValueError, UnicodeError):
        return None
    default = _SCHEMES.get(url.protocol)
    if default is None or not url.hostname:
        return None
    # Credentials in a link are never sent, and a fragment never leaves the client.
    url.hash = url.username = url.password = ""
    port = int(url.port) if url.port else default
    return Url(url.href, url.protocol[:-1], url.hostname, port, url.pathname + _search(url.href))


def _search(href: str) -> str:
    """The query with its question mark. `search` of the standard's interface hides an empty one, which servers see."""
    at = href.find("?")
    return href[at:] if at >= 0 else ""
