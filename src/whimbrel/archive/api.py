"""The archive's contract: captures go in, their places come out.

The archive knows nothing of commits. It is told to append, to sync, to cut back to a known length and to seal; who
calls when is the committer's business. All calls come from one thread.
"""

from typing import Protocol

import msgspec


class Payload(Protocol):
    """A body that can be read when its turn comes."""

    @property
    def size(self) -> int: ...

    def read(self) -> bytes: ...


class Original(msgspec.Struct, frozen=True, gc=False):
    """The capture that a revisit refers to."""

    url: str
    at_s: float


class Capture(msgspec.Struct, frozen=True, gc=False):
    """One exchange to be kept: a request, the response or a revisit, and metadata."""

    url: str
    at_s: float
    """Wall clock, when the request was made."""
    address: str
    http_version: str
    """`1.0`, `1.1` or `2`: HTTP/2 is written in HTTP/1.1 syntax and named by WARC-Protocol."""
    request_head: bytes
    """Lines with CR LF, without the empty line."""
    response_head: bytes
    """As received. The archive renames Transfer-Encoding, since the payload has no chunks any more."""
    payload: Payload
    digest: bytes
    """SHA-1 of the payload."""
    truncated: str = ""
    """For WARC-Truncated: `length`, `time` or `disconnect`."""
    original: Original | None = None
    """Set for a revisit with an identical payload: no body is kept."""
    keep_body: bool = True
    """False where the page says `noarchive`: the head is kept, the body is not, and WARC-Truncated says
    `unspecified`."""
    metadata: tuple[tuple[str, str], ...] = ()
    """For a metadata record beside the response; none is written when empty."""


class Place(msgspec.Struct, frozen=True, gc=False):
    """Where the response or revisit record of a capture is."""

    file: str
    """Relative to the crawl's directory, with slashes: `archive/NAME.warc.gz`."""
    offset: int
    length: int


class Archive(Protocol):
    def append(self, captures: list[Capture]) -> list[Place]:
        """Write captures to the open segment, beginning a new segment when that is full. Not durable until `sync`.

        Raises OSError when the disk refuses; the archive is then as long as it is and must be cut back with `cut`.
        """

    def sync(self) -> None:
        """Everything appended is on disk when this returns, new files' directory entries included."""

    def lengths(self) -> dict[str, int]:
        """Every segment of the crawl by its relative name, with its length now."""

    def cut(self, lengths: dict[str, int]) -> None:
        """Go back to exactly these segments and lengths: cut what is longer, delete what is not listed.

        Raises ArchiveDamaged when a listed segment is missing or too short.
        """

    def seal(self) -> None:
        """End the open segment, if there is one: the next capture begins a new one. Its index is written by `index`."""

    def index(self, lengths: dict[str, int]) -> None:
        """Write the missing CDXJ of every listed segment but the open one. Derived data: may be called again any
        time."""


class ArchiveDamaged(Exception):
    """The archive is not what the last commit says; the message names the file and both lengths."""
