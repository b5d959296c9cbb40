"""The index of a sealed segment: sorted, as `cdxj-indexer --sort` writes it.

It has one line for each response, revisit, resource and metadata record; none for those that hold warc-fields, and none
for conversions.

It is derived from the segment alone and can be written again at any time, so no commit lists it.
"""

import json
import os
import re
import tempfile
from collections.abc import Iterator
from heapq import merge
from itertools import groupby, islice
from pathlib import Path
from typing import IO

from isal import isal_zlib

from whimbrel.archive.api import RecordPlace
from whimbrel.archive.head import parse_head
from whimbrel.archive.read import WarcRecord, read_records
from whimbrel.durable_file import Disk
from whimbrel.url.surt import surt

_EXCHANGES = ("response", "revisit")
_DOCUMENTS = ("resource", "metadata")
_OTHER_SCHEME = re.compile(r"(?!https?:)[A-Za-z][A-Za-z0-9+.-]*:(?P<host>//(?!/))?")
_NOT_MIME = re.compile(r"[;\s]")
_PLAIN_HEAD = re.compile(rb"[!-~]++ ++([!-~]++)[ -~]*+\r\n(?:[!-~][\t -~]*+\r\n)*+\r\n")
"""Printable ASCII and no continued lines."""
_TYPE = re.compile(rb"(?i)\ncontent-type[ \t]*:[ \t]*([!-:<-~]*)")
_MIME_CHARS = 255
"""A type and a subtype have 127 characters each at most (RFC 6838 §4.2). Servers send more."""
_WRITE_LINES = 4096
_RUN_BYTES = 8_000_000
_BLOCK_BYTES = 16_000
_LINE_BYTES = 50
"""What a line takes besides its characters."""
_KEPT_BYTES = 8_000_000
_quoted = json.encoder.encode_basestring_ascii
_PUNCTUATION = str.maketrans("", "", "-:T")


class Noted:
    """Lines of a segment. A gigabyte of small answers has hundreds of thousands, 70 MB, and URLs may be long: so they
    wait in sorted runs, packed block by block, and are merged at the end. A few megabytes of these are in memory, the
    others in a file without a name."""

    def __init__(self, folder: Path) -> None:
        """`folder` is where the file is made if it is needed."""
        self._folder = folder
        self._lines: list[bytes] = []
        self._lines_bytes = 0
        self._runs: list[list[bytes | tuple[int, int]]] = []
        """Blocks, each packed, or where it is in the file."""
        self._kept_bytes = 0
        self._file: IO[bytes] | None = None

    def add(self, line: bytes) -> None:
        """OSError when there is no room for the file."""
        self._lines.append(line)
        self._lines_bytes += _LINE_BYTES + len(line)
        if self._lines_bytes >= _RUN_BYTES:
            self._runs.append([self._put(isal_zlib.compress(block, 1)) for block in _blocks(sorted(self._lines))])
            self._lines, self._lines_bytes = [], 0

    def lines(self) -> Iterator[bytes]:
        """In order, each once."""
        for line, _ in groupby(merge(*map(self._unpacked, self._runs), sorted(self._lines))):
            yield line

    def _put(self, block: bytes) -> bytes | tuple[int, int]:
        if self._kept_bytes + len(block) <= _KEPT_BYTES:
            self._kept_bytes += len(block)
            return block
        if self._file is None:
            self._file = tempfile.TemporaryFile(dir=self._folder)  # noqa: SIM115 - it goes with this object
        at = self._file.seek(0, os.SEEK_END)
        self._file.write(block)
        return at, len(block)

    def _unpacked(self, run: list[bytes | tuple[int, int]]) -> Iterator[bytes]:
        for block in run:
            packed = block if isinstance(block, bytes) else self._read(*block)
            yield from isal_zlib.decompress(packed).splitlines(keepends=True)

    def _read(self, at: int, length: int) -> bytes:
        if self._file is None:
            raise AssertionError("a block is in a file that there is not")
        self._file.seek(at)
        return self._file.read(length)

    def __del__(self) -> None:
        if self._file is not None:
            self._file.close()


def _blocks(lines: list[bytes]) -> Iterator[bytes]:
    """Lines together, in blocks of the same size or a little more."""
    block, size = [], 0
    for line in lines:
        block.append(line)
        size += len(line)
        if size >= _BLOCK_BYTES:
            yield b"".join(block)
            block, size = [], 0
    if block:
        yield b"".join(block)


def index_path(segment: Path) -> Path:
    """`NAME.warc.gz` is indexed by `NAME.warc.gz.cdxj`."""
    return segment.with_name(segment.name + ".cdxj")


def index_line(record: WarcRecord, http_head: bytes, file: str) -> bytes:
    """A record's line, when all of the record has been read; empty for records that are not indexed.

    The fields and their order are those of cdxj-indexer, and so is what is left out: a field without a value.
    """
    content_type = record.get("Content-Type")
    if not is_indexed(record.kind, content_type):
        return b""
    url, digest, date = (record.get(name) for name in ("WARC-Target-URI", "WARC-Payload-Digest", "WARC-Date"))
    place = RecordPlace(file, record.offset, record.length)
    if record.kind in _DOCUMENTS:
        return document_line(content_type, url, digest, date, place)
    return line(record.kind, url, http_head, digest, date, place)


def is_indexed(kind: str, content_type: str) -> bool:
    """Whether a record of this type has a line, as cdxj-indexer decides."""
    return kind in _EXCHANGES or (kind in _DOCUMENTS and content_type != "application/warc-fields")


def line(kind: str, url: str, http_head: bytes, digest: str, date: str, place: RecordPlace) -> bytes:
    """The line of a response or revisit. `place.file` is the segment's name without its folder."""
    plain = _PLAIN_HEAD.fullmatch(http_head) if kind == "response" and digest else None
    fields = _odd_fields(kind, url, http_head, digest, place) if plain is None else _fields(url, plain, digest, place)
    return f"{_key(url)} {_timestamp(date)} {fields}\n".encode()


def document_line(content_type: str, url: str, digest: str, date: str, place: RecordPlace) -> bytes:
    """The line of a resource or metadata record. None for one without a URL: nobody could look it up."""
    if not url:
        return b""
    mime = _NOT_MIME.split(content_type, maxsplit=1)[0].strip()[:_MIME_CHARS]
    fields = {"url": url, "mime": mime, "digest": digest, "length": str(place.length), "offset": str(place.offset)}
    written = json.dumps({name: value for name, value in fields.items() if value} | {"filename": place.file})
    return f"{_key(url)} {_timestamp(date)} {written}\n".encode()


def _fields(url: str, head: re.Match[bytes], digest: str, place: RecordPlace) -> str:
    """What nearly all answers have, at a third of the cost."""
    found = _TYPE.search(head[0])
    mime = f'"mime": {_quoted(found[1][:_MIME_CHARS].decode())}, ' if found else ""
    return (
        f'{{"url": {_quoted(url)}, {mime}"status": {_quoted(head[1].decode())}, "digest": {_quoted(digest)}, '
        f'"length": "{place.length}", "offset": "{place.offset}", "filename": {_quoted(place.file)}}}'
    )


def _odd_fields(kind: str, url: str, http_head: bytes, digest: str, place: RecordPlace) -> str:
    fields: dict[str, str | None] = {"url": url}
    head = parse_head(http_head)
    known = bool(head.status or head.fields)
    if kind == "revisit":
        fields["mime"] = "warc/revisit"
    elif known:
        mime = head.field("content-type")
        fields["mime"] = mime and _NOT_MIME.split(mime, maxsplit=1)[0].strip()[:_MIME_CHARS]
    fields["status"] = head.status.split(" ", 1)[0] if known else None
    fields["digest"] = digest or None
    fields |= {"length": str(place.length), "offset": str(place.offset), "filename": place.file}
    return json.dumps({name: value for name, value in fields.items() if value is not None})


def index_lines(segment: Path, length: int) -> Iterator[bytes]:
    """The index of the first `length` bytes of a segment."""
    noted = Noted(segment.parent)
    for record in read_records(segment, 0, length):
        head = record.http_head()
        record.finish()
        line = index_line(record, head, segment.name)
        if line:
            noted.add(line)
    return noted.lines()


def write_index(disk: Disk, segment: Path, length: int, noted: Noted | None = None) -> None:
    """Write the index beside the segment; it is there whole or not at all. `noted` has its lines when whoever wrote the
    segment has kept them: reading it again costs ten times more."""
    lines = index_lines(segment, length) if noted is None else noted.lines()
    path = index_path(segment)
    half = path.with_name(path.name + ".tmp")
    if half.exists():
        disk.unlink(half)
    file = disk.create_exclusive(half)
    try:
        while batch := list(islice(lines, _WRITE_LINES)):
            file.write(b"".join(batch))
        file.fdatasync()
    finally:
        file.close()
    disk.replace(half, path)
    disk.fsync_directory(path.parent)


def _key(url: str) -> str:
    """As cdxj-indexer makes it. Of a scheme with hosts, such as `ftp` or wget's `metadata`, it says nothing."""
    other = _OTHER_SCHEME.match(url)
    try:
        if other is None:
            return surt(url)
        return surt(f"http://{url[other.end() :]}") if other["host"] else url.lower().removesuffix("/")
    except ValueError:
        return url


def _timestamp(date: str) -> str:
    return date[:19].translate(_PUNCTUATION)
