"""The messages that travel through the crawler: what was found, what is to be asked for, and on which host."""

from typing import Final, Literal

import msgspec

from whimbrel.url import Url
from whimbrel.url.scheme import DEFAULT_PORTS

Purpose = Literal["page", "revisit", "robots", "table", "requisite"]
"""Why a request is made: a page that is new, or known and looked at again; robots.txt; a table of links or of variable
information; something that a page needs to be shown."""


class Request(msgspec.Struct, frozen=True, gc=False):
    """What is asked of a server, and why. A plain request is a GET of a page, without anything of its own."""

    url: Url
    method: str = "GET"
    headers: tuple[tuple[str, str], ...] = ()
    """Besides those that every request of the crawl has; one of the same name takes its place."""
    body: bytes = b""
    session: str = ""
    """Requests of one session share cookies; the empty one is the crawl's own."""
    data: bytes = b""
    """What a handler gave along for the handler of the answer."""
    purpose: Purpose = "page"


class _RequestDetails(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """A request without its URL, as an entry on disk keeps it."""

    method: str
    headers: tuple[tuple[str, str], ...]
    body: bytes
    session: str
    data: bytes
    purpose: Purpose


_encode_details: Final = msgspec.msgpack.Encoder().encode
_decode_details: Final = msgspec.msgpack.Decoder(_RequestDetails).decode


def pack_details(request: Request | None) -> bytes:
    """All of a request but its URL; empty for a plain one, or for None."""
    if request is None or request == Request(request.url):
        return b""
    details = (request.method, request.headers, request.body, request.session, request.data, request.purpose)
    return _encode_details(_RequestDetails(*details))


def unpack_details(url: Url, details: bytes) -> Request:
    """The request that `pack_details` took apart."""
    if not details:
        return Request(url)
    found = _decode_details(details)
    return Request(url, found.method, found.headers, found.body, found.session, found.data, found.purpose)


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
    request: Request | None = None
    """How it is to be asked for; None is a plain request."""


class Visit(msgspec.Struct, frozen=True, gc=False):
    """A request that the gate has let out, with the address to go to; or one that is refused before it is made."""

    request: Request
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

    @property
    def url(self) -> Url:
        return self.request.url


class VisitResult(msgspec.Struct, frozen=True, gc=False):
    """How a visit went, as far as etiquette cares."""

    elapsed_s: float = 0.0
    status: int = 0
    """0 when there was no answer."""
    bytes: int = 0
    trouble: str = ""
    connected: bool = True
    """Whether the address answered at all."""
    retry_after_s: float = 0.0
    """What the server asked us to wait; 0 when it did not."""


class HostName(msgspec.Struct, frozen=True, gc=False):
    """A site (scheme, host, port) with the domain that it counts for."""

    site: str
    scheme: str
    host: str
    port: int
    domain: str
    slot: int = -1
    """Of 1,024; -1 where nobody has asked the frontier for it."""

    @property
    def origin(self) -> str:
        """What the texts of its URLs begin with: no port where it is the scheme's own."""
        return f"{self.scheme}://{self.host}" if self.port == DEFAULT_PORTS[self.scheme] else self.site
