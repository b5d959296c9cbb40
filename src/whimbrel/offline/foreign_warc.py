"""Responses and revisits in WARC files, whoever wrote them, each with what stands beside it."""

import base64
import hashlib
import io
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from whimbrel.url import Url, parse

if TYPE_CHECKING:
    from warcio.recordloader import ArcWarcRecord

_MOST_BYTES: Final = 1 << 30


class Unreadable(Exception):
    """A file that is no WARC, or is damaged; the message names it."""


class Place(msgspec.Struct, frozen=True):
    """Where a record begins."""

    file: Path
    offset: int


class Record(msgspec.Struct):
    """A response, resource or revisit."""

    place: Place
    name: str
    url: Url
    at_s: float
    address: str
    head: bytes
    payload: bytes | None
    """None of a revisit."""
    digest: str
    request_head: bytes = b""
    depth: int = 0
    source: str = ""
    elapsed_s: float = 0.0


def meant(files: list[Path]) -> set[str]:
    """The digests that revisits name."""
    return {_digest(record) for file in files for _, record in _iterated(file) if record.rec_type == "revisit"}


def record_at(place: Place) -> Record | None:
    """One that was read before, without what stands beside it."""
    offset, record = next(_iterated(place.file, place.offset))
    return _answer(Place(place.file, offset), record)


def records(file: Path) -> Iterator[Record | None]:
    """Responses and revisits, each with the request and the metadata that name it; None for one to be passed over."""
    last: Record | None = None
    for offset, record in _iterated(file):
        kind = record.rec_type
        if kind in ("response", "revisit", "resource"):
            if last is not None:
                yield last
            last = _answer(Place(file, offset), record)
            if last is None:
                yield None
        elif last is not None and _header(record, "WARC-Concurrent-To") == last.name:
            _add_beside(last, record)
    if last is not None:
        yield last


def _answer(place: Place, record: "ArcWarcRecord") -> Record | None:
    url = parse(_header(record, "WARC-Target-URI").strip("<>"))
    if url is None or (record.http_headers is None and record.rec_type != "resource"):
        return None
    body = record.raw_stream.read(_MOST_BYTES)
    if record.http_headers is None:
        head = f"HTTP/1.1 200 OK\r\nContent-Type: {_header(record, 'Content-Type')}\r\n".encode()
    else:
        if (record.http_headers.get_header("Transfer-Encoding") or "").lower() == "chunked":
            body = _without_chunks(body)
        head = _head(record.http_headers)
    return Record(
        place,
        _header(record, "WARC-Record-ID"),
        url,
        _time_s(_header(record, "WARC-Date")),
        _header(record, "WARC-IP-Address"),
        head,
        None if record.rec_type == "revisit" else body,
        _digest(record) or "sha1:" + base64.b32encode(hashlib.sha1(body).digest()).decode(),  # noqa: S324
    )


def _add_beside(last: Record, record: "ArcWarcRecord") -> None:
    if record.rec_type == "request" and record.http_headers is not None:
        last.request_head = _head(record.http_headers)
    elif record.rec_type == "metadata":
        fields = dict(
            line.split(": ", 1)
            for line in record.raw_stream.read().decode(errors="replace").splitlines()
            if ": " in line
        )
        last.source = fields.get("via", "")
        with suppress(ValueError):
            # Heritrix writes letters, one for each hop.
            hops = fields.get("hopsFromSeed", "0")
            last.depth = int(hops) if hops.isdigit() else len(hops)
        with suppress(ValueError):
            last.elapsed_s = int(fields.get("fetchTimeMs", "0")) / 1000


def _iterated(file: Path, offset: int = 0) -> "Iterator[tuple[int, ArcWarcRecord]]":
    """Each record, and where it begins."""
    from warcio.archiveiterator import ArchiveIterator
    from warcio.exceptions import ArchiveLoadFailed

    try:
        with file.open("rb") as stream:
            stream.seek(offset)
            found = ArchiveIterator(stream)
            for record in found:
                yield found.offset, record
    except (ArchiveLoadFailed, EOFError, OSError) as error:
        raise Unreadable(f"{file}: {error}") from error


def _head(headers: Any) -> bytes:
    lines = [
        f"{headers.protocol} {headers.statusline}".strip(),
        *(f"{name}: {value}" for name, value in headers.headers),
    ]
    return "".join(f"{line}\r\n" for line in lines).encode("utf-8", "replace")


def _header(record: "ArcWarcRecord", name: str) -> str:
    return record.rec_headers.get_header(name) or ""


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
    except ValueError:
        return 0.0
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
