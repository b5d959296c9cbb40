"""Segments of our own archive that are damaged: a file as it stands, and its records packed anew after a change."""

from contextlib import suppress
from pathlib import Path
from typing import Final

from isal import isal_zlib

from tests.fuzz.api import Target
from tests.fuzz.target.folder import in_folder
from whimbrel.archive.read import SegmentDamaged, read_capture
from whimbrel.archive.verify import verify

_NAME: Final = "archive/a.warc.gz"


def read(folder: Path, data: bytes) -> None:
    """Records, with a line of four stars between two."""
    _read(folder, data)
    _read(folder, b"".join(isal_zlib.compress(record, 1, wbits=31) for record in data.split(b"****\n")))


def _read(folder: Path, data: bytes) -> None:
    path = folder / _NAME
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data)
    list(verify(folder, {_NAME: len(data)}))
    with suppress(SegmentDamaged):
        read_capture(folder, _NAME, 0, len(data))


TARGET: Final = Target(
    "segment",
    in_folder(read),
    (
        *(
            b"WARC/1.1\r\n",
            b"WARC-Type: response\r\n",
            b"WARC-Type: revisit\r\n",
            b"Content-Length: 9\r\n",
            b"\r\n\r\n",
            b"****\n",
        ),
        *(
            b"Content-Type: application/http;msgtype=response\r\n",
            b"HTTP/1.1 200 OK\r\n",
            b"WARC-Date: 2026-01-01T00:00:00Z\r\n",
        ),
        *(
            b"WARC-Payload-Digest: sha1:",
            b"WARC-Target-URI: ",
            b"WARC-Record-ID: <urn:uuid:",
            b"Transfer-Encoding: chunked\r\n",
        ),
    ),
)
