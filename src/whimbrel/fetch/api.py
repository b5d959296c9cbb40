"""The contracts and messages of fetching."""

from collections.abc import Callable
from typing import Protocol

import msgspec

from whimbrel.error import WhimbrelError
from whimbrel.fetch.trouble import Trouble
from whimbrel.shortage import Shortage
from whimbrel.url import Url
from whimbrel.visit import Request, Visit


class Body(Protocol):
    """The body of an answer as it was received, content codings and all. It can be read again and again.

    Small ones are in memory, large ones in an unnamed spill file that goes with the last reference or with a crash.
    """

    @property
    def size(self) -> int:
        """Bytes received."""

    def read(self) -> bytes:
        """All of it."""

    def close(self) -> None:
        """Give the memory or the file back; it cannot be read any more. May be called twice."""


class Response(msgspec.Struct, frozen=True, gc=False):
    """What the server sent."""

    status: int
    """0 where there was no HTTP: a resource from a WARC file, whose `head` and `http_version` are empty."""
    head: bytes
    """Status line and header lines as received, each with CR LF, without the empty line. Interim answers (1xx) and
    trailers are left out; HTTP/2 is spelt as HTTP/1.1 spells it (`HTTP/2 200 OK`)."""
    http_version: str
    """`1.0`, `1.1` or `2`."""
    headers: dict[str, str]
    """Names in lower case. The values of a repeated header are joined by `, `, in the order received."""
    document: Body
    truncated: str = ""
    """`length` when the body went on beyond the limit and was cut; else empty. A body that ended too early is
    trouble."""

    def header(self, name: str) -> str | None:
        return self.headers.get(name)

    @property
    def has_document(self) -> bool:
        """Whether the body is what was asked for, and no message about it."""
        return 200 <= self.status < 300 or not self.status


class CannotFetch(WhimbrelError):
    """What fetches, or looks up names, cannot begin: this machine lacks descriptors, threads or memory."""

    def __init__(self, library: str, error: Exception) -> None:
        super().__init__(
            f"{library} cannot begin ({error}): too many files or processes are open, or no memory is left. "
            "Raise the limit on open files (`ulimit -n`, `ulimit -u`) or free some, and start again"
        )


class Exchange(msgspec.Struct, frozen=True, gc=False):
    """One request and what came of it. Without a response, `trouble` says why.

    Trouble of the server or the network is the reason of a failed try. Trouble of our own (`Trouble.ABANDONED`) means
    that the visit did not happen: it counts for nothing, and `shortage` is what this machine lacked, if anything.
    """

    response: Response | None
    trouble: Trouble
    connected: bool
    """Whether the address answered at all: false for `refused`, `unreachable`, `tls` and time-outs before a
    connection."""
    address: str
    """The IP address that was asked for, or connected to."""
    request_head: bytes
    """The request as sent, but for secrets, which are `redacted`: request line and header lines with CR LF, without the
    empty line; empty if none was sent."""
    started_s: float
    """Wall clock."""
    elapsed_s: float
    shortage: Shortage | None = None


class Fetched(msgspec.Struct, frozen=True, gc=False):
    """A visit was made."""

    visit: Visit
    exchange: Exchange


class Resolution(msgspec.Struct, frozen=True, gc=False):
    """The addresses of a host, in the order to be tried, and for how long they hold. Empty: it has none."""

    addresses: tuple[str, ...]
    ttl_s: float
    shortage: Shortage | None = None
    """What this machine lacked, so that nobody could be asked."""


class Resolver(Protocol):
    async def resolve(self, host: str) -> Resolution:
        """Ask for a host name, or read an address literal (with or without brackets). Never raises for a bad name."""


class Traffic(Protocol):
    """Who counts from the moments at which a request is sent and an answer has come: a connection takes its time before
    the one, and settling a visit after the other."""

    def sent(self, url: Url, address: str) -> None:
        """The connection stands, and the request goes out now."""

    def landed(self, address: str) -> None:
        """The answer is there, or there will be none."""


Done = Callable[[Exchange], None]
"""Called once, on the event loop, with what came of a request; it must not raise."""


class Transport(Protocol):
    """Makes one request per call and never another: no redirect is followed, nothing is repeated."""

    def begin(
        self,
        request: Request,
        address: str,
        done: Done,
        *,
        fresh: bool = False,
        http1: bool = False,
        traffic: Traffic | None = None,
    ) -> None:
        """Send a request to `address`. `done` is called exactly once, later, on the event loop; it must not raise.

        An address outside the allowed networks is never connected to: trouble `private-address`. `fresh` asks for a
        connection of its own: a second try must not fail for an old connection's sake. `http1` asks for HTTP/1.1: some
        servers offer HTTP/2 and cannot speak it. `traffic` is told when the request is sent, at most once, and not at
        all when there was no connection.
        """

    async def fetch(
        self, request: Request, address: str, traffic: Traffic | None = None, *, http1: bool = False
    ) -> Exchange:
        """The same for a caller that waits; cancelled, it ends the exchange."""
