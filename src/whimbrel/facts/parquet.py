"""A tail written again as Parquet, one file per table.

Frames are read one at a time. Rows wait until a row group is full, by rows or by bytes, so that memory does not grow
with the tail. Nothing is sorted: the order of the rows is that of the commits. The files get their names when all are
complete and on disk.
"""

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from threading import Event
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from whimbrel.durable_file import Disk, DiskFile
from whimbrel.facts.api import TABLES
from whimbrel.facts.frame import Head, heads, mapped_payload
from whimbrel.facts.payload import read_payload_tables
from whimbrel.facts.schema import dictionary_columns, tail_schema

GROUP_ROWS: Final = 100_000
GROUP_BYTES: Final = 8_000_000
"""Pages with their texts reach this long before they reach the number of rows."""

_COPIED_BYTES: Final = 1 << 20
"""Tables of a frame that are smaller wait for many frames to come, and would keep all of each in memory."""
_SINK_BYTES: Final = 1 << 20
_COMMITS: Final = b"whimbrel.commits"
"""`FIRST LAST`, the commits of the tail that the file was made of, then `NUMBER:ROWS` for each that has rows in it, in
their order, which is that of the rows. Files of earlier versions have the first two only."""

_UNREADABLE: Final = (OSError, pa.ArrowException, UnicodeDecodeError)
"""What pyarrow raises for a file that is damaged; the last one for a name that is no text any more."""


class ConversionStopped(Exception):
    """The conversion was asked to stop."""


class _Sink:
    """Between pyarrow, which writes each page of a column by itself, and the disk."""

    closed = False

    def __init__(self, file: DiskFile) -> None:
        self._file: DiskFile | None = file
        self._parts: list[bytes] = []
        self._waiting_bytes = 0
        self._end = 0
        self._hash = hashlib.sha256()

    @property
    def digest(self) -> str:
        """Of all that was drained."""
        return "sha256:" + self._hash.hexdigest()

    def write(self, data: bytes) -> int:
        if self._file is not None:
            self._parts.append(data)
            self._waiting_bytes += len(data)
            if self._waiting_bytes >= _SINK_BYTES:
                self.drain()
        self._end += len(data)
        return len(data)

    def tell(self) -> int:
        return self._end

    def flush(self) -> None:
        """pyarrow's wish; ours is `drain`."""

    def close(self) -> None:
        """The file is closed by its owner."""

    def drain(self) -> None:
        parts, self._parts, self._waiting_bytes = self._parts, [], 0
        if self._file is not None:
            self._file.writev(parts)
            for part in parts:
                self._hash.update(part)

    def discard(self) -> None:
        self._file, self._parts = None, []


class TableFile:
    """One Parquet file under way."""

    def __init__(self, table: str, schema: pa.Schema, path: Path, disk: Disk) -> None:
        self.path = path
        self.temporary = path.with_name(path.name + ".tmp")
        self._table, self._disk = table, disk
        self._waiting: list[pa.Table] = []
        self._waiting_rows = self._waiting_bytes = 0
        self._rows: dict[int, int] = {}
        if self.temporary.exists():  # from an attempt that failed
            disk.unlink(self.temporary)
        self._file: DiskFile = disk.create_exclusive(self.temporary)
        self._sink = _Sink(self._file)
        self._writer = pq.ParquetWriter(
            pa.PythonFile(self._sink, mode="w"),
            schema,
            compression="zstd",
            compression_level=1,
            use_dictionary=dictionary_columns(table),
            store_schema=False,  # else readers would see a dictionary where the tail has one
        )

    def add(self, number: int, rows: pa.Table) -> None:
        """Rows of a commit."""
        self._rows[number] = self._rows.get(number, 0) + rows.num_rows
        self._waiting.append(rows)
        self._waiting_rows += rows.num_rows
        self._waiting_bytes += rows.nbytes
        if self._waiting_rows >= GROUP_ROWS or self._waiting_bytes >= GROUP_BYTES:
            self._write()

    def _write(self) -> None:
        if self._waiting:
            # One dictionary for all: the writer gives up on dictionaries that change inside a row group.
            group = pa.concat_tables(self._waiting).unify_dictionaries()
            self._writer.write_table(group, row_group_size=GROUP_ROWS)
        self._waiting, self._waiting_rows, self._waiting_bytes = [], 0, 0

    def complete(self, commits: tuple[int, int]) -> None:
        """All on disk, under the temporary name."""
        self._write()
        counts = [f"{number}:{rows}" for number, rows in self._rows.items() if rows]
        self._writer.add_key_value_metadata({_COMMITS.decode(): " ".join([*map(str, commits), *counts])})
        self._writer.close()
        self._sink.drain()
        self._file.fdatasync()
        self._file.close()

    @property
    def digest(self) -> str:
        """Of the file when it is complete."""
        return self._sink.digest

    def abandon(self) -> None:
        """The writer ends with a footer whatever happens, at the latest when it is collected: it goes nowhere."""
        self._sink.discard()
        self._writer.close()
        self._file.close()


def convert(tail: Path, length: int, number: int, disk: Disk, stop: Event) -> dict[Path, str]:
    """Write the frames of a tail up to `length` as `TABLE-number.parquet` beside it; the files that there are now, with
    their digests.

    Raises OSError, FrameBroken, or ConversionStopped when `stop` is set; temporary files may be left, and are replaced
    next time.
    """
    files: dict[tuple[str, pa.Schema], TableFile] = {}
    commits: tuple[int, int] | None = None
    fd = os.open(tail, os.O_RDONLY | os.O_CLOEXEC)
    try:
        for head in _heads_until(stop, fd, length):
            commits = (commits[0] if commits else head.number, head.number)
            for table, rows in read_payload_tables(mapped_payload(fd, head), head.offset, _COPIED_BYTES).items():
                wanted = tail_schema(table) if table in TABLES else rows.schema
                if (table, wanted) not in files:
                    # A user's table may have got other columns meanwhile.
                    more = sum(name == table for name, _ in files)
                    path = tail.with_name(f"{table}-{number}{f'.{more}' if more else ''}.parquet")
                    files[table, wanted] = TableFile(table, wanted, path, disk)
                files[table, wanted].add(head.number, rows)
        for file in files.values():
            file.complete(commits or (0, 0))
    except BaseException:
        for file in files.values():
            file.abandon()
        raise
    finally:
        os.close(fd)
    for file in files.values():
        disk.replace(file.temporary, file.path)
    disk.fsync_directory(tail.parent)
    pa.default_memory_pool().release_unused()
    return {file.path: file.digest for file in files.values()}


def _heads_until(stop: Event, fd: int, length: int) -> Iterator[Head]:
    for head in heads(fd, length):
        if stop.is_set():
            raise ConversionStopped
        yield head


def last_commit(path: Path) -> int:
    """The last commit whose rows a Parquet file of ours holds; 0 if it does not say, or is not whole."""
    try:
        said = _said(pq.read_metadata(path))
    except _UNREADABLE:
        return 0
    return int(said[1]) if len(said) > 1 and said[1].isdigit() else 0


def rows_by_commit(metadata: pq.FileMetaData) -> dict[int, int] | None:
    """How many rows of a file belong to each commit, in the order of the rows; None where the file does not say."""
    pairs = [pair.split(b":") for pair in _said(metadata)[2:]]
    return {int(number): int(rows) for number, rows in pairs} if pairs or not metadata.num_rows else None


def row_count_problem(path: Path) -> str:
    """What is wrong with a file's rows and those that its commits should have; empty when nothing is."""
    try:
        metadata = pq.read_metadata(path)
    except _UNREADABLE as error:
        return f"cannot be read: {error}"
    try:
        counts = rows_by_commit(metadata)
    except ValueError as error:
        return f"does not say which rows its commits have: {error}"
    if counts is None or sum(counts.values()) == metadata.num_rows:
        return ""
    return f"has {metadata.num_rows:,} rows; its commits have {sum(counts.values()):,}"


def _said(metadata: pq.FileMetaData) -> list[bytes]:
    said: bytes = (metadata.metadata or {}).get(_COMMITS, b"")
    return said.split()
