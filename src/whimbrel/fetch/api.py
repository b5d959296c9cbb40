"""The contracts and messages of fetching."""

from typing import Protocol

import msgspec

from whimbrel.frontier.api import Visit
from whimbrel.url import Url


class Response(msgspec.Struct, frozen=True, gc=False):
    """What the server sent. Header names are in lower case, in the order received, repeated ones included."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes
    address: str
    """The IP address that was really connected to."""
    truncated: bool = False
    """The body went on beyond the limit."""

    def header(self, name: str) -> str | None:
        """The last value of a header; None when there is none."""
        return next((value for key, value in reversed(self.headers) if key == name), None)


class Fetched(msgspec.Struct, frozen=True, gc=False):
    """A visit was made. Without a response, `trouble` is the reason of the failed outcome."""

    visit: Visit
    response: Response | None
    trouble: str
    started_s: float
    elapsed_s: float


class Resolver(Protocol):
    async def resolve(self, host: str) -> tuple[str, ...]:
        """The addresses of a host, in the order to be tried; empty when it has none."""


class Transport(Protocol):
    async def fetch(self, url: Url) -> Response | str:
        """Ask for one URL once; the response, or in one word why there is none."""
