"""The committed rows of a crawl at one commit.

Parquet files never change. Tails grow, so they are read by `pread` up to the committed length and no further. All of
them are opened before the first is read: from then on it does not matter if the crawl unlinks one.
"""

import os
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from whimbrel.archive.read import SegmentDamaged, StoredCapture, read_capture
from whimbrel.facts.api import TABLES, FactsDamaged
from whimbrel.facts.frame import FrameBroken, heads, read_payload
from whimbrel.facts.legacy import is_old, present_name, upgraded
from whimbrel.facts.name import parquet_name, tail_number
from whimbrel.facts.payload import read_payload_tables
from whimbrel.facts.schema import schema


class SnapshotGone(Exception):
    """A listed file is not there any more: the crawl has gone on. Read what is committed now, and try again."""


class Snapshot:
    """Give it what `COMMITTED` lists; files that are not facts are passed over. Reads when first asked."""

    def __init__(self, directory: Path, files: dict[str, int], parquet: list[str], *, recaptured: bool = False) -> None:
        self.directory = directory
        self.recaptured = recaptured
        """Whether a URL may have more than one capture with content."""
        self._segments = {name: length for name, length in files.items() if name.startswith("archive/")}
        tails = [(number, name) for name in files if (number := tail_number(name)) is not None]
        self._tails = {name: files[name] for _, name in sorted(tails)}
        self._parquet = parquet

    def hold(self) -> None:
        """Read the tails and find the Parquet files now. Raises SnapshotGone; later calls cannot."""
        _ = self.tails, self._files

    @cached_property
    def tails(self) -> dict[str, pa.Table]:
        """For each table the rows that are not in Parquet yet, in order of the commits."""
        parts: dict[str, list[pa.Table]] = {table: [schema(table).empty_table()] for table in TABLES}
        with ExitStack() as stack:
            opened = [(name, self._open(name, stack), length) for name, length in self._tails.items()]
            for name, fd, length in opened:
                try:
                    for head in heads(fd, length):
                        for table, rows in read_payload_tables(read_payload(fd, head), head.offset).items():
                            known = rows.cast(schema(table)) if table in TABLES else rows
                            parts.setdefault(table, []).append(known)
                except FrameBroken as error:
                    raise FactsDamaged(f"{name} is damaged {error}") from error
        return {table: pa.concat_tables(of_table, promote_options="permissive") for table, of_table in parts.items()}

    @property
    def parquet(self) -> dict[str, list[Path]]:
        """For each table its Parquet files, in order of the commits. What is in `old_parquet` comes before them."""
        return self._files[0]

    @property
    def old_parquet(self) -> dict[str, list[Path]]:
        """For each table its Parquet files of format 1, under the table's present name (`facts/legacy.py`)."""
        return self._files[1]

    @cached_property
    def _files(self) -> tuple[dict[str, list[Path]], dict[str, list[Path]]]:
        named = [(name, parts) for name in self._parquet if (parts := parquet_name(name)) is not None]
        # The files of one tail are written by one version. Where this does not tell which, the columns do.
        new_numbers = {parts.number for _, parts in named if parts.table == "captures"}
        new: dict[str, list[Path]] = {table: [] for table in TABLES}
        old: dict[str, list[Path]] = {table: [] for table in TABLES}
        for name, (table, number) in sorted(named, key=lambda pair: pair[1].number):
            path = (self.directory / name).absolute()
            if not path.exists():
                raise SnapshotGone(f"{name} is gone")
            present = present_name(table)
            is_new = number in new_numbers or not is_old(present, _column_names(path, name))
            (new if is_new else old).setdefault(present, []).append(path)
        return new, old

    @cached_property
    def items(self) -> list[str]:
        """The tables that the user's handlers filled."""
        return sorted({*self.tails, *self.parquet, *self.old_parquet} - set(TABLES))

    def tables(self) -> dict[str, "pa.Table | ds.Dataset"]:
        """All rows of each of Whimbrel's own tables; of `hosts` the latest of each site. Datasets read their files when
        they are asked."""
        found = {table: self._whole(table) for table in TABLES}
        hosts = found["hosts"]
        found["hosts"] = latest_hosts(hosts if isinstance(hosts, pa.Table) else hosts.to_table(use_threads=False))
        return found

    def stored(self, file: str, offset: int, length: int) -> StoredCapture:
        """The record that `warc_file`, `warc_offset` and `warc_length` of a page name. Only what this commit lists is
        read, whoever asks. Raises SegmentDamaged, also for any other place, or OSError."""
        if offset < 0 or length <= 0 or offset + length > self._segments.get(file, 0):
            raise SegmentDamaged(file, offset, f"no commit lists {length} bytes there")
        try:
            return read_capture(self.directory, file, offset, length)
        except FileNotFoundError as error:
            raise SegmentDamaged(file, offset, "the file is missing") from error

    def _whole(self, table: str) -> "pa.Table | ds.Dataset":
        tail, files = self.tails[table], [str(path) for path in self.parquet[table]]
        old = [upgraded(table, _read_parquet(path)).cast(schema(table)) for path in self.old_parquet[table]]
        if not files:
            return pa.concat_tables([*old, tail])
        parts = [ds.dataset(part) for part in old]
        return ds.dataset([*parts, ds.dataset(files, schema=schema(table), format="parquet"), ds.dataset(tail)])

    def _open(self, name: str, stack: ExitStack) -> int:
        try:
            fd = os.open(self.directory / name, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError as error:
            raise SnapshotGone(f"{name} is gone") from error
        stack.callback(os.close, fd)
        return fd


def latest_hosts(hosts: pa.Table) -> pa.Table:
    """The last row of each site, in the order of those rows."""
    numbered = hosts.select(["site"]).append_column("at", pa.array(range(hosts.num_rows), pa.int64()))
    last = numbered.group_by("site").aggregate([("at", "max")])["at_max"]
    return hosts.take(last.take(pc.sort_indices(last)))


def _column_names(path: Path, name: str) -> list[str]:
    try:
        with pq.ParquetFile(path) as file:
            names: list[str] = file.schema_arrow.names
            return names
    except FileNotFoundError as error:
        raise SnapshotGone(f"{name} is gone") from error
    except UnicodeDecodeError as error:
        raise FactsDamaged(f"{name} has a column whose name is no text") from error
    except (OSError, pa.ArrowException) as error:
        raise FactsDamaged(f"{name} is not a whole Parquet file: {error}") from error


def has_readable_names(path: str) -> bool:
    """Whether the columns of a Parquet file have names that are texts."""
    try:
        with pq.ParquetFile(path) as file:
            return all(isinstance(name, str) for name in file.schema_arrow.names)
    except (OSError, pa.ArrowException, UnicodeDecodeError):
        return False


def _read_parquet(path: Path) -> pa.Table:
    with pq.ParquetFile(path) as file:
        return file.read(use_threads=False)
