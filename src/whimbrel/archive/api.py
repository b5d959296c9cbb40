"""The archive's contract: captures go in, their places come out.

The archive knows nothing of commits. It is told to append, to sync, to cut back to a known length and to seal; who
calls when is the committer's business. All calls come from one thread.
"""

from collections.abc import Sequence
from typing import Literal, Protocol

import msgspec

from whimbrel.error import Damaged


class Payload(Protocol):
    """A body that can be read when its turn comes."""

    @property
    def size(self) -> int: ...

    def read(self) -> bytes: ...


class Reference(msgspec.Struct, frozen=True, gc=False):
    """The capture that another one refers to."""

    url: str
    at_s: float
    record_id: str = ""
    """`<urn:uuid:…>`, where it is known; else URL and time name the record."""


Fields = tuple[tuple[str, str], ...]
Profile = Literal["identical-payload-digest", "server-not-modified"]


class ResponseCapture(msgspec.Struct, frozen=True, gc=False):
    """An HTTP exchange, kept as a response record, then a request record, then a metadata record."""

    url: str
    at_s: float
    """Wall clock, when the request was made."""
    address: str
    http_version: str
    """`1.0`, `1.1` or `2`: HTTP/2 is written in HTTP/1.1 syntax and named by WARC-Protocol."""
    request_head: bytes
    """Lines with CR LF, without the empty line. Where it is empty, nothing is known of the request, and no request
    record is written: an imported response may have none."""
    response_head: bytes
    """As received. The archive renames Transfer-Encoding, since the payload has no chunks any more."""
    payload: Payload
    digest: bytes
    """SHA-1 of the payload."""
    truncated: str = ""
    """For WARC-Truncated: `length`, `time`, `disconnect`, or `unspecified` where the body is left out on purpose."""
    metadata: Fields = ()
    """For a metadata record beside the response; none is written when empty."""
    record_id: str = ""
    """The id that the first record keeps, of an imported one; computed when empty."""


class RevisitCapture(msgspec.Struct, frozen=True, gc=False):
    """An HTTP exchange whose payload is kept elsewhere: a revisit record in place of the response."""

    url: str
    at_s: float
    address: str
    http_version: str
    request_head: bytes
    response_head: bytes
    profile: Profile
    """Why there is no payload: it equals an earlier one, or the server said that nothing has changed (304)."""
    refers_to: Reference | None = None
    """The capture that has the payload; None when it is not known."""
    digest: bytes = b""
    """SHA-1 of the payload; empty when there was none, as with 304."""
    truncated: str = ""
    metadata: Fields = ()
    record_id: str = ""


class ResourceCapture(msgspec.Struct, frozen=True, gc=False):
    """A payload that came without HTTP: from a file, from FTP, or from a WARC file that says no more."""

    url: str
    at_s: float
    content_type: str
    """Of the payload; `application/octet-stream` is written when empty."""
    payload: Payload
    digest: bytes
    address: str = ""
    truncated: str = ""
    metadata: Fields = ()
    record_id: str = ""


class ConversionCapture(msgspec.Struct, frozen=True, gc=False):
    """A payload derived from that of another capture, such as its text or a picture of it."""

    url: str
    """Of the capture that it was derived from."""
    at_s: float
    """When it was derived."""
    content_type: str
    payload: Payload
    digest: bytes
    refers_to: Reference | None = None
    truncated: str = ""
    record_id: str = ""


class MetadataCapture(msgspec.Struct, frozen=True, gc=False):
    """What is said about another capture, or about none. The few fields that a crawl knows of an exchange stand beside
    it instead, see `ResponseCapture.metadata`."""

    url: str
    """Empty where it is about no URL."""
    at_s: float
    payload: Payload
    digest: bytes
    content_type: str = "application/warc-fields"
    refers_to: Reference | None = None
    truncated: str = ""
    record_id: str = ""


Capture = ResponseCapture | RevisitCapture | ResourceCapture | ConversionCapture | MetadataCapture
"""What the archive takes. The code that makes a capture decides its kind."""


class RecordPlace(msgspec.Struct, frozen=True, gc=False):
    """Where the first record of a capture is."""

    file: str
    """Relative to the crawl's directory, with slashes: `archive/NAME.warc.gz`."""
    offset: int
    length: int


class Archive(Protocol):
    def append(self, captures: Sequence[Capture]) -> list[RecordPlace]:
        """Write captures to the open segment, beginning a new segment when that is full. Not durable until `sync`.

        Raises OSError when the disk refuses; the archive is then as long as it is and must be cut back with `cut`.
        """

    def sync(self) -> None:
        """Everything appended is on disk when this returns, new files' directory entries included."""

    def lengths(self) -> dict[str, int]:
        """Every segment of the crawl by its relative name, with its length now."""

    def sealed(self) -> list[str]:
        """The segments that get no more records: all but the open one."""

    def cut(self, lengths: dict[str, int]) -> None:
        """Go back to exactly these segments and lengths: cut what is longer, delete what is not listed.

        Raises ArchiveDamaged when a listed segment is missing or too short.
        """

    def seal(self) -> None:
        """End the open segment, if there is one: the next capture begins a new one. Its index is written by `index`."""

    def index(self, lengths: dict[str, int]) -> None:
        """Write the missing CDXJ of every listed segment but the open one. Derived data: may be called again any
        time."""

    def close(self) -> None:
        """Let go of files. Syncs nothing: what was not synced is not promised. May be called again."""


class ArchiveDamaged(Damaged):
    """The archive is not what the last commit says; the message names the file and both lengths."""
