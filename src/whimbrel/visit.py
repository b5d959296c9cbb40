"""The messages that travel through the crawler: what was found, what is to be visited, and on which host."""

import msgspec

from whimbrel.url import Url


class Discovered(msgspec.Struct, frozen=True, gc=False):
    """A URL to be visited was found, and has passed scope, filters and the limits that are functions of the URL."""

    url: Url
    depth: int
    source: str = ""
    """The URL it was found on; empty for a seed."""
    redirects: int = 0
    """Redirects in a row that led here; 0 for a link in a document."""
    first: bool = False
    """It goes before the others of its host."""


class Visit(msgspec.Struct, frozen=True, gc=False):
    """A URL that the gate has let out, with the address to go to."""

    url: Url
    depth: int
    source: str
    redirects: int
    attempt: int
    """1 for the first try."""
    address: str
    """Empty when no request is to be made: `refusal` then says why."""
    token: bytes
    """The frontier's own name for the entry."""
    refusal: str = ""
    """The reason of a visit that needs no request: `robots`, `robots-unreachable`, `dns`, …"""


class Ending(msgspec.Struct, frozen=True, gc=False):
    """How a visit went, as far as etiquette cares."""

    elapsed_s: float = 0.0
    status: int = 0
    """0 when there was no answer."""
    bytes: int = 0
    trouble: str = ""
    connected: bool = True
    """Whether the address answered at all."""
    retry_after_s: float = 0.0


class HostName(msgspec.Struct, frozen=True, gc=False):
    """A site (scheme, host, port) with the domain that it counts for."""

    site: str
    scheme: str
    host: str
    port: int
    domain: str
