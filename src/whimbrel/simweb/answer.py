"""What a simulated server does with a request: a reply, or a script of raw steps.

Requests and replies are made once per page served: msgspec structs cost a fifth of frozen dataclasses.
"""

from dataclasses import dataclass
from html import escape

import msgspec

Headers = tuple[tuple[str, str], ...]


class SimRequest(msgspec.Struct, frozen=True, gc=False):
    """A request as read from the wire. `target` is the request target exactly as sent."""

    method: str
    host: str
    """Lower case, without a port."""
    target: str
    scheme: str = "http"
    headers: dict[str, str] = msgspec.field(default_factory=dict)
    """Names in lower case; of repeated ones the last."""
    reused: bool = False
    """The connection has carried an earlier request."""
    attempt: int = 1
    """How often this URL has been asked for since the server started, this time included."""
    received_s: float = 0.0
    """Real time, seconds since 1970."""
    address: str = ""
    """The address that the client connected to."""
    clock_s: float = 0.0
    """What the server's own clock shows: the Date header, and what a Retry-After date counts from."""
    since_s: float = 0.0
    """Real time, before which the client cannot have begun with it."""

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]

    @property
    def query(self) -> str:
        return self.target.partition("?")[2]


class Reply(msgspec.Struct, frozen=True, gc=False):
    """A well-formed answer. The server adds Date, Server, Content-Length and Connection."""

    status: int
    headers: Headers
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class Send:
    data: bytes


@dataclass(frozen=True, slots=True)
class Repeat:
    """Send `data` every `every_s` seconds, `times` times; for ever when None. 0 s means as fast as it is read."""

    data: bytes
    every_s: float = 0.0
    times: int | None = None


@dataclass(frozen=True, slots=True)
class Wait:
    seconds: float


@dataclass(frozen=True, slots=True)
class Close:
    """Close the connection in good order."""


@dataclass(frozen=True, slots=True)
class Reset:
    """Drop the connection so that the client sees a reset."""


Step = Send | Repeat | Wait | Close | Reset


@dataclass(frozen=True, slots=True)
class Script:
    """Raw bytes and worse. `status` is what the access log shows (0: no status line was sent)."""

    steps: tuple[Step, ...]
    status: int = 0


Answer = Reply | Script


def html(body: str | bytes, status: int = 200, *more: tuple[str, str]) -> Reply:
    data = body.encode() if isinstance(body, str) else body
    return Reply(status, (("Content-Type", "text/html; charset=utf-8"), *more), data)


def text(body: str | bytes, status: int = 200, *more: tuple[str, str]) -> Reply:
    data = body.encode() if isinstance(body, str) else body
    return Reply(status, (("Content-Type", "text/plain; charset=utf-8"), *more), data)


def redirect(location: str, status: int = 302) -> Reply:
    return html(f'<p>Moved to <a href="{escape(location)}">another place</a>.', status, ("Location", location))
