"""WARC files of other programs: what is read of them, and whole imports."""

import shutil
from hashlib import sha256
from pathlib import Path
from typing import Final

from isal import isal_zlib

from tests.fuzz.api import Target
from tests.fuzz.target.document import check_page
from tests.fuzz.target.folder import in_folder
from tests.parse.answers import fingerprinted, parser
from whimbrel.archive.api import Capture
from whimbrel.archive.record import capture_records, warcinfo_record
from whimbrel.archive.verify import verify
from whimbrel.commit.committed import read_committed
from whimbrel.effect.archivist import captures_of
from whimbrel.offline.foreign_warc import ForeignRecord, Unreadable, records, referenced
from whimbrel.offline.record_capture import record_capture, restored
from whimbrel.offline.verify import problems
from whimbrel.offline.warc_import import ImportFailed, import_warcs
from whimbrel.offline.warc_reader import WarcReader
from whimbrel.parse.sitemap import MAX_URLS

_VERIFIED: Final = 8
"""One import in so many is verified whole."""
_PARSER: Final = parser()
_SEGMENT: Final = "archive/a.warc.gz"


def _reader() -> WarcReader:
    made = WarcReader(None)
    made._positions = {}
    return made


_READER: Final = _reader()


def read(folder: Path, data: bytes) -> None:
    """Every record as a visit, and the archive that it would go to."""
    file = folder / "in.warc"
    for body in (data, isal_zlib.compress(data, 1, wbits=31)):
        file.write_bytes(body)
        try:
            referenced([file])
            found = [record for record in records(file) if record is not None]
        except Unreadable:
            continue
        check_archive(folder, [capture for record in found for capture in captures(record)])


def captures(record: ForeignRecord) -> tuple[Capture, ...]:
    assert record.depth < 1 << 31
    fetched = _READER._fetched(record)
    if fetched is None:
        return (record_capture(record),)
    (parsed,) = _PARSER.process(fingerprinted(fetched))
    if parsed.page is not None:
        check_page(parsed.page, MAX_URLS)
    made = captures_of(parsed, None)
    return (record_capture(record), *(restored(capture, record) for capture in made))


def check_archive(folder: Path, found: list[Capture]) -> None:
    """What is written is whole, and holds as many records as were written."""
    written = [warcinfo_record(_SEGMENT, 0.0, ())]
    for capture in found:
        written += capture_records(capture, _SEGMENT, 0)
    path = folder / _SEGMENT
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"".join(isal_zlib.compress(b"".join(parts), 1, wbits=31) for parts in written))
    assert list(verify(folder, {_SEGMENT: path.stat().st_size})) == []


def import_whole(folder: Path, data: bytes) -> None:
    """An import ends, or refuses the file; what it made is whole."""
    file, out = folder / "in.warc.gz", folder / "out"
    file.write_bytes(data)
    try:
        import_warcs([file], out)
    except ImportFailed:
        pass
    else:
        committed = read_committed(out)
        assert committed.state == "done"
        # Tables take longer than all the rest.
        all_of_it = sha256(data).digest()[0] % _VERIFIED == 0
        found = problems(out, committed) if all_of_it else verify(out, committed.archive())
        assert list(found) == []
    finally:
        shutil.rmtree(out, ignore_errors=True)


_WORDS: Final = (
    *(
        b"WARC/1.0\r\n",
        b"WARC/1.1\r\n",
        b"WARC-Type: response\r\n",
        b"WARC-Type: revisit\r\n",
        b"WARC-Type: resource\r\n",
    ),
    *(
        b"WARC-Type: metadata\r\n",
        b"WARC-Type: request\r\n",
        b"WARC-Type: conversion\r\n",
        b"WARC-Type: warcinfo\r\n",
        b"\r\n\r\n",
    ),
    *(
        b"WARC-Target-URI: <http://a.test/>\r\n",
        b"WARC-Date: 0001-01-01T00:00:00Z\r\n",
        b"WARC-Date: 9999-12-31T23:59:59-23:00\r\n",
    ),
    *(
        b"WARC-Truncated: length\r\n",
        b"WARC-IP-Address: 1.2.3.4\r\n",
        b"WARC-Profile: x/server-not-modified\r\n",
        b"hopsFromSeed: LLR\r\n",
    ),
    *(
        b"WARC-Refers-To: <urn:uuid:00000000-0000-0000-0000-000000000001>\r\n",
        b"WARC-Concurrent-To: ",
        b"fetchTimeMs: -5\r\n",
        b"via: x\r\n",
    ),
    *(
        b"Transfer-Encoding: chunked\r\n",
        b"HTTP/1.1 200 OK\r\n",
        b"HTTP/1.1 304\r\n",
        b"Content-Encoding: gzip\r\n",
        b"Content-Length: 0\r\n",
    ),
    *(
        b"WARC-Payload-Digest: sha1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\r\n",
        b"Content-Type: application/warc-fields\r\n",
        b"\xc2\x85",
        b"\xe9",
    ),
    *(
        b"filedesc://x 1.2.3.4 20260101000000 text/plain 200 - - 0 x 10\n1 0 x\n",
        b"\x1f\x8b\x08",
        b"\r",
        b"\x0b",
        b"\x1c",
        b"dns:a.test",
    ),
)
RECORDS: Final = Target("warc", in_folder(read), _WORDS, most_s=6.0)
"""An input is read four times, and what was read is written and verified."""
IMPORT: Final = Target("import", in_folder(import_whole), _WORDS, most_bytes=300_000, quick_inputs=30)
