"""Captures in WARC files, whatever program wrote them, each with what stands beside it.

A request may come before its response or behind it; metadata that names a record and holds plain fields belongs to that
record. Other metadata, conversions and resources are captures of their own.
"""

import hashlib
import io
from base64 import b32encode
from collections.abc import Generator, Iterator
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from whimbrel.archive.api import Fields, Reference
from whimbrel.fetch.credential import redacted_head
from whimbrel.url import Url, parse
from whimbrel.url.userinfo import without_userinfo

if TYPE_CHECKING:
    from warcio.archiveiterator import ArchiveIterator
    from warcio.recordloader import ArcWarcRecord

_MOST_BYTES: Final = 20_000_000
"""Of a payload, as in a crawl (`--max-file-size`). What goes beyond is cut, and the record says so."""
_PIECE_BYTES: Final = 1 << 20
_ONE_MEMBER: Final = "non-chunked gzip"
"""What warcio says of a file that is compressed as a whole: all of it can be read once it is compressed anew."""
_KINDS: Final = ("response", "revisit", "resource", "conversion", "metadata")
_EXCHANGES: Final = ("response", "revisit")
_MOST_DIGITS: Final = 9
_MOST_HOPS: Final = 10**_MOST_DIGITS - 1
"""Depths are kept in 32 bits."""
_FIELDS: Final = "application/warc-fields"


class Unreadable(Exception):
    """A file that is no WARC, or is damaged; the message names it."""


class WarcPosition(msgspec.Struct, frozen=True):
    """Where a record begins."""

    file: Path
    offset: int


class ForeignRecord(msgspec.Struct):
    """A response, revisit, resource, conversion or metadata record."""

    kind: str
    position: WarcPosition
    record_id: str
    target: str
    """As it is written there; empty where there is none."""
    url: Url | None
    """None unless the target is of http or https."""
    at_s: float
    address: str
    content_type: str
    """Of the payload; empty for an HTTP exchange, whose head says it."""
    head: bytes
    """Empty where there is no HTTP."""
    payload: bytes | None
    """None of a revisit."""
    digest: str
    refers_to: Reference | None = None
    not_modified: bool = False
    """A revisit because the server said that nothing has changed."""
    truncated: str = ""
    request_head: bytes = b""
    metadata: Fields = ()
    """The fields of the metadata record beside it."""

    @property
    def depth(self) -> int:
        # Heritrix writes letters, one for each hop.
        hops = self._field("hopsFromSeed") or "0"
        is_number = hops.isdecimal() and hops.isascii() and len(hops) <= _MOST_DIGITS
        return int(hops) if is_number else min(len(hops), _MOST_HOPS)

    @property
    def source(self) -> str:
        return self._field("via")

    @property
    def elapsed_s(self) -> float:
        with suppress(ValueError, OverflowError):
            return int(self._field("fetchTimeMs") or "0") / 1000
        return 0.0

    def _field(self, name: str) -> str:
        return next((value for key, value in self.metadata if key == name), "")


def referenced(files: list[Path]) -> frozenset[str]:
    """The digests that revisits name."""
    found = (record for file in files for _, record in _iterated(file) if record is not None)
    return frozenset(_digest(record) for record in found if record.rec_type == "revisit")


def record_at(position: WarcPosition) -> ForeignRecord | None:
    """One that was read before, without what stands beside it."""
    with closing(_iterated(position.file, position.offset)) as found:
        offset, record = next(found)
        # Within: the file is closed with what reads it.
        return None if record is None else _content(WarcPosition(position.file, offset), record)


def records(file: Path) -> Iterator[ForeignRecord | None]:
    """Each capture, with the request and the fields that name it; None for one to be passed over."""
    last: ForeignRecord | None = None
    behind: list[ForeignRecord] = []
    """What came between the last record and those that may still belong to it."""
    request = _Request("", "", b"")
    damaged = False
    for offset, record in _iterated(file):
        if record is None:
            damaged = True
            break
        kind = record.rec_type
        if kind == "request" and record.http_headers is not None:
            request = _Request(
                _header(record, "WARC-Record-ID"),
                _header(record, "WARC-Concurrent-To"),
                redacted_head(_head(record.http_headers)),
            )
            _add_request(last, request, "")
        elif kind == "metadata":
            found = _content(WarcPosition(file, offset), record)
            if found is not None and not _add_metadata(last, found):
                behind.append(found)
        elif kind in _KINDS:
            yield from [last] if last is not None else []
            yield from behind
            behind = []
            last = _content(WarcPosition(file, offset), record)
            _add_request(last, request, _header(record, "WARC-Concurrent-To"))
            if last is None:
                yield None
    yield from [last] if last is not None else []
    yield from behind
    if damaged:
        yield None


class _Request(msgspec.Struct, frozen=True):
    record_id: str
    concurrent_to: str
    head: bytes


def _add_request(last: ForeignRecord | None, request: _Request, concurrent_to: str) -> None:
    """Either of the two may name the other."""
    if last is not None and last.kind in _EXCHANGES and not last.request_head:
        named = request.concurrent_to == last.record_id or (request.record_id and request.record_id == concurrent_to)
        last.request_head = request.head if named else b""


def _add_metadata(last: ForeignRecord | None, found: ForeignRecord) -> bool:
    """Whether these are the fields that stand beside the last record."""
    named = found.refers_to.record_id if found.refers_to is not None else ""
    if last is None or last.metadata or last.kind not in (*_EXCHANGES, "resource") or named != last.record_id:
        return False
    if found.content_type != _FIELDS or found.payload is None:
        return False
    lines = found.payload.decode(errors="replace").splitlines()
    last.metadata = tuple(
        (name, without_userinfo(value.strip())) for name, colon, value in (one.partition(":") for one in lines) if colon
    )
    return bool(last.metadata)


def _content(position: WarcPosition, record: "ArcWarcRecord") -> ForeignRecord | None:
    kind, target = record.rec_type, _url(record, "WARC-Target-URI")
    url = parse(target)
    exchange = kind in _EXCHANGES
    if exchange and (url is None or record.http_headers is None):
        return None
    if not target and kind != "metadata":
        return None
    body, cut = _body(record)
    if body is None:
        return None
    head = b""
    if exchange:
        if (record.http_headers.get_header("Transfer-Encoding") or "").lower() == "chunked":
            body = _without_chunks(body)
        head = _head(record.http_headers)
    return ForeignRecord(
        kind,
        position,
        _header(record, "WARC-Record-ID"),
        target,
        url,
        _time_s(_header(record, "WARC-Date")),
        _header(record, "WARC-IP-Address"),
        "" if exchange else _header(record, "Content-Type"),
        head,
        None if kind == "revisit" else body,
        _digest(record) or "sha1:" + b32encode(hashlib.sha1(body).digest()).decode(),  # noqa: S324
        _reference(record),
        _header(record, "WARC-Profile").endswith("server-not-modified"),
        "" if kind == "revisit" else _header(record, "WARC-Truncated") or cut,  # of a revisit: the payload is elsewhere
    )


def _body(record: "ArcWarcRecord") -> tuple[bytes | None, str]:
    """What the record holds, and why that is not all; None when it cannot be read at all."""
    pieces, size = [], 0
    try:
        while size <= _MOST_BYTES and (piece := record.raw_stream.read(min(_PIECE_BYTES, _MOST_BYTES + 1 - size))):
            pieces.append(piece)
            size += len(piece)
    except Exception:  # noqa: BLE001 - of damaged files warcio says whatever Python has for it
        return (b"".join(pieces), "unspecified") if pieces else (None, "")
    if size > _MOST_BYTES:
        return b"".join(pieces)[:_MOST_BYTES], "length"
    # A file may end within its last record.
    return b"".join(pieces), "unspecified" if getattr(record.raw_stream, "limit", 0) else ""


def _reference(record: "ArcWarcRecord") -> Reference | None:
    record_id = _header(record, "WARC-Refers-To") or _header(record, "WARC-Concurrent-To")
    url, date = _url(record, "WARC-Refers-To-Target-URI"), _header(record, "WARC-Refers-To-Date")
    return Reference(url, _time_s(date), record_id) if url or record_id else None


def _iterated(file: Path, offset: int = 0) -> "Generator[tuple[int, ArcWarcRecord | None]]":
    """Each record, and where it begins; at last None when the rest of the file is damaged or was cut off. Raises
    Unreadable for a file whose first record cannot be read, which is no WARC, and for one in a single gzip member."""
    from whimbrel.offline.bounded_warc import archive_iterator

    with file.open("rb") as stream:
        stream.seek(offset)
        found = archive_iterator(stream)
        record = _next(found, file)
        while record is not None:
            yield found.offset, record
            try:
                record = _next(found, file)
            except Unreadable as error:
                if _ONE_MEMBER in str(error):
                    raise
                yield found.offset, None
                return


def _next(found: "ArchiveIterator", file: Path) -> "ArcWarcRecord | None":
    """None at the end. What is wrong with a record, warcio says with whatever error Python has for it."""
    try:
        return next(found, None)
    except Exception as error:
        said = " ".join(str(error).split())
        raise Unreadable(f"{file}: a record near byte {found.offset:,} cannot be read: {said}") from error


def _head(headers: Any) -> bytes:
    lines = [
        f"{headers.protocol} {headers.statusline}".strip(),
        *(f"{name}: {value}" for name, value in headers.headers),
    ]
    return "".join(f"{line}\r\n" for line in lines).encode("utf-8", "replace")


def _header(record: "ArcWarcRecord", name: str) -> str:
    return record.rec_headers.get_header(name) or ""


def _url(record: "ArcWarcRecord", name: str) -> str:
    return without_userinfo(_header(record, name).strip("<>"))


def _digest(record: "ArcWarcRecord") -> str:
    return _header(record, "WARC-Payload-Digest")


def _without_chunks(body: bytes) -> bytes:
    from warcio.bufferedreaders import ChunkedDataReader

    reader, parts = ChunkedDataReader(io.BytesIO(body)), []
    while piece := reader.read(1 << 20):
        parts.append(piece)
    return b"".join(parts)


def _time_s(text: str) -> float:
    try:
        found = datetime.fromisoformat(text)
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC).timestamp()
    except (ValueError, OverflowError):  # the latter at the ends of the calendar
        return 0.0
