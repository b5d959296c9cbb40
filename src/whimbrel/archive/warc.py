"""The archive as WARC segments in a crawl's directory."""

import re
from collections.abc import Sequence
from pathlib import Path

from whimbrel.archive import cdxj
from whimbrel.archive.api import ArchiveDamaged, Capture, RecordPlace, ResponseCapture, RevisitCapture
from whimbrel.archive.member import compressor
from whimbrel.archive.record import (
    Parts,
    capture_records,
    digest_text,
    record_kind,
    safe_url,
    stored_type,
    warc_date,
    warcinfo_record,
)
from whimbrel.durable_file import Disk, DiskFile
from whimbrel.flow import Config

FOLDER = "archive"
WRITE_BYTES = 1 << 20

_NAME = re.compile(r"(?P<segment>.+-(?P<number>[0-9]{5,})\.warc\.gz)(?P<index>\.cdxj(?:\.tmp)?)?")


class ArchiveConfig(Config, frozen=True):
    segment_bytes: int = 1_000_000_000
    """A segment longer than this is ended. A capture is never split, so segments are a little longer."""
    library: str = "isal"
    """`isal`, fast, or `zlib`, smaller at its higher levels."""
    level: int = 1
    """0 to 3 for `isal`, 0 to 9 for `zlib`."""
    prefix: str = "whimbrel"
    """Segments are named PREFIX-NNNNN.warc.gz."""
    info: tuple[tuple[str, str], ...] = ()
    """Fields of the warcinfo record: `software` with its version, `robots`, `http-header-user-agent`, `operator`…"""


class WarcArchive:
    """See `Archive` for the contract. One thread at a time.

    It is usable at once in a directory without a crawl. In any other, call `cut` first: it alone knows what was kept.
    """

    def __init__(self, directory: Path, config: ArchiveConfig, disk: Disk | None = None) -> None:
        self._directory = directory
        self._config = config
        self._disk = Disk() if disk is None else disk
        self._compress = compressor(config.library, config.level)
        self._lengths: dict[str, int] = {}
        """Of all segments but the one that `_file` writes."""
        self._file: DiskFile | None = None
        self._name = ""
        """The open segment; empty when the next capture begins a new one. `_file` is opened with the first write."""
        self._unsynced: list[DiskFile] = []
        """Segments that ended after the last sync."""
        self._sealed = ""
        """The segment that `seal` ended last: a cut that takes nothing from it does not open it again."""
        self._new_names = False
        self._new_folder = True
        """Also where the folder is there: who made it may have died before it was durable."""
        self._lines: cdxj.Noted | None = None
        """Of the open segment's index; None when it was begun by another process, or cut."""
        self._noted: dict[str, cdxj.Noted] = {}
        """Lines of sealed segments that are not indexed yet."""
        self._pending: list[bytes] = []
        self._pending_bytes = 0

    def append(self, captures: Sequence[Capture]) -> list[RecordPlace]:
        self._pending, self._pending_bytes = [], 0  # of a call that failed: its captures come again after the cut
        places = []
        for capture in captures:
            places.append(self._append(capture))
            if self._pending_bytes >= WRITE_BYTES:
                self._write()
        self._write()
        return places

    def sync(self) -> None:
        while self._unsynced:
            self._unsynced[0].fdatasync()
            self._unsynced.pop(0).close()
        if self._file is not None:
            self._file.fdatasync()
        if self._new_names:
            self._disk.fsync_directory(self._directory / FOLDER)
            if self._new_folder:
                self._disk.fsync_directory(self._directory)
            self._new_names = self._new_folder = False

    def lengths(self) -> dict[str, int]:
        now = dict(self._lengths)
        if self._file is not None:
            now[self._name] = self._file.tell()
        return dict(sorted(now.items(), key=lambda item: _number(item[0])))

    def sealed(self) -> list[str]:
        return [name for name in self.lengths() if name != self._name]

    def cut(self, lengths: dict[str, int]) -> None:
        self._check(lengths)
        self.close()
        self._lines = None
        self._noted.clear()
        self._name = ""
        self._lengths = dict(lengths)
        if (self._directory / FOLDER).is_dir():
            self._remove_unlisted(lengths)
            cut = [name for name, length in lengths.items() if self._cut_one(name, length)]
            self._disk.fsync_directory(self._directory / FOLDER)
            self._reopen(cut)

    def seal(self) -> None:
        if self._file is not None:
            self._lengths[self._name] = self._file.tell()
            self._unsynced.append(self._file)
            self._file = None
        self._sealed = self._name or self._sealed
        if self._name and self._lines is not None:
            self._noted[self._name] = self._lines
        self._lines = None
        self._name = ""

    def index(self, lengths: dict[str, int]) -> None:
        for name, length in lengths.items():
            path = self._directory / name
            if name != self._name and not cdxj.index_path(path).exists():
                cdxj.write_index(self._disk, path, length, self._noted.pop(name, None))

    def close(self) -> None:
        if self._file is not None:
            self._lengths[self._name] = self._file.tell()
            self._unsynced.append(self._file)
            self._file = None
        for file in self._unsynced:
            file.close()
        self._unsynced = []

    def _append(self, capture: Capture) -> RecordPlace:
        file = self._segment(capture.at_s)
        start = offset = file.tell() + self._pending_bytes
        length = 0
        records = capture_records(capture, self._name, start)
        for at, record in enumerate(records):
            size = self._add(record)
            if at == 0:
                length = size
            offset += size
        place = RecordPlace(self._name, start, length)
        if self._lines is not None:
            line = _index_line(capture, records[0][1], place)
            if line:
                self._lines.add(line)
        return place

    def _add(self, record: Parts) -> int:
        member = self._compress(record)
        size = sum(map(len, member))
        self._pending.extend(member)
        self._pending_bytes += size
        return size

    def _write(self) -> None:
        if self._file is not None and self._pending:
            self._file.writev(self._pending)
        self._pending, self._pending_bytes = [], 0

    def _segment(self, at_s: float) -> DiskFile:
        """The open segment, with room in it."""
        if self._file is not None and self._file.tell() + self._pending_bytes >= self._config.segment_bytes:
            self._write()
            self.seal()
        if self._file is None:
            self._file = self._open() if self._name else self._create()
        if self._file.tell() + self._pending_bytes == 0:
            self._add(warcinfo_record(self._name, at_s, self._info()))
        return self._file

    def _open(self) -> DiskFile:
        file = self._disk.open_append(self._directory / self._name)
        del self._lengths[self._name]
        return file

    def _create(self) -> DiskFile:
        number = max((_number(name) for name in self._lengths), default=0) + 1
        name = f"{FOLDER}/{self._config.prefix}-{number:05d}.warc.gz"
        folder = self._directory / FOLDER
        if not folder.is_dir():
            self._disk.make_directory(folder)
        file = self._disk.create_exclusive(self._directory / name)
        self._new_names = True
        self._name = name
        self._lines = cdxj.Noted(folder)
        return file

    def _info(self) -> tuple[tuple[str, str], ...]:
        fields = {
            "software": "whimbrel",
            "format": "WARC File Format 1.1",
            "conformsTo": "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/",
        }
        return tuple((fields | dict(self._config.info)).items())

    def _check(self, lengths: dict[str, int]) -> None:
        for name, length in lengths.items():
            path = self._directory / name
            if not path.exists():
                raise ArchiveDamaged(f"{name} is missing; it should be {length} bytes long")
            found = self._disk.length(path)
            if found < length:
                raise ArchiveDamaged(f"{name} is {found} bytes long; it should be {length}")

    def _remove_unlisted(self, lengths: dict[str, int]) -> None:
        """Only what is named like ours: a file that somebody put beside the segments is not ours to delete."""
        for name in self._disk.listdir(self._directory / FOLDER):
            found = _NAME.fullmatch(name)
            if found is None:
                continue
            half_written = (found["index"] or "").endswith(".tmp")
            if half_written or f"{FOLDER}/{found['segment']}" not in lengths:
                self._disk.unlink(self._directory / FOLDER / name)

    def _cut_one(self, name: str, length: int) -> bool:
        path = self._directory / name
        if self._disk.length(path) == length:
            return False
        if cdxj.index_path(path).exists():
            self._disk.unlink(cdxj.index_path(path))
        file = self._disk.open_append(path)
        try:
            file.truncate(length)
            file.fdatasync()
        finally:
            file.close()
        return True

    def _reopen(self, cut: list[str]) -> None:
        """Go on in the last segment, unless it is full or was sealed: in this life, or in one that left an index."""
        last = max(self._lengths, key=_number, default="")
        if not last or self._lengths[last] >= self._config.segment_bytes:
            return
        sealed = last == self._sealed and last not in cut
        if not sealed and not cdxj.index_path(self._directory / last).exists():
            self._name = last


def _index_line(capture: Capture, http_head: bytes, place: RecordPlace) -> bytes:
    """What a reader of the segment would find in the capture's first record; empty when that is not indexed."""
    at = RecordPlace(place.file.rpartition("/")[2], place.offset, place.length)
    kind, url, date = record_kind(capture), safe_url(capture.url), warc_date(capture.at_s)
    digest = digest_text(capture.digest) if capture.digest else ""
    if isinstance(capture, ResponseCapture | RevisitCapture):
        return cdxj.line(kind, url, http_head, digest, date, at)
    content_type = stored_type(capture.content_type)
    return cdxj.document_line(content_type, url, digest, date, at) if cdxj.is_indexed(kind, content_type) else b""


def _number(name: str) -> int:
    found = _NAME.fullmatch(name)
    return int(found["number"]) if found else 0
