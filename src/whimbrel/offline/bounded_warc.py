"""warcio, with heads that have an end.

warcio takes lines of any length, and as many of them as come before an empty one: a file of 90 KB, unpacked, was 60 MB
of header lines, which took half a minute and 1.6 GB.
"""

from typing import Any, BinaryIO, Final

from warcio.archiveiterator import ArchiveIterator
from warcio.bufferedreaders import DecompressingBufferedReader
from warcio.recordloader import ARCHeadersParser
from warcio.statusandheaders import StatusAndHeaders, StatusAndHeadersParser

_MOST_BYTES: Final = 1 << 20
"""Of a head."""


class HeadTooLong(Exception):
    """Nobody knows where it ends."""

    def __init__(self) -> None:
        super().__init__(f"its head has more than {_MOST_BYTES:,} bytes")


def archive_iterator(stream: BinaryIO) -> ArchiveIterator:
    """The records from where the stream is. One whose own head is too long is HeadTooLong; a message whose HTTP head is
    too long has none, and the records after it are read."""
    found = ArchiveIterator(stream)
    found.reader = _Reader(stream)
    loader = found.loader
    loader.warc_parser = _HeadParser(loader.WARC_TYPES)
    loader.arc_parser = _ArcParser()
    loader.http_parser = _HttpParser(loader.HTTP_TYPES, verify=False)
    loader.http_req_parser = _HttpParser(loader.HTTP_VERBS, verify=False)
    return found


class _Reader(DecompressingBufferedReader):  # type: ignore[misc]
    """Of a line that is too long the beginning, and then the rest as if it were another."""

    def readline(self, length: int | None = None) -> bytes:
        line: bytes = super().readline(_MOST_BYTES if length is None else min(length, _MOST_BYTES))
        return line


class _Lines:
    """The lines of one head."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._left = _MOST_BYTES

    def readline(self) -> bytes:
        line: bytes = self._stream.readline()
        self._left -= len(line)
        if self._left <= 0:
            raise HeadTooLong
        return line


class _HeadParser(StatusAndHeadersParser):  # type: ignore[misc]
    def parse(self, stream: Any, full_statusline: Any = None) -> StatusAndHeaders:
        return super().parse(_Lines(stream), full_statusline)


class _HttpParser(_HeadParser):
    def parse(self, stream: Any, full_statusline: Any = None) -> StatusAndHeaders | None:
        try:
            return super().parse(stream, full_statusline)
        except HeadTooLong:
            return None


class _ArcParser(ARCHeadersParser):  # type: ignore[misc]
    def parse(self, stream: Any, headerline: Any = None) -> StatusAndHeaders:
        return super().parse(_Lines(stream), headerline)
