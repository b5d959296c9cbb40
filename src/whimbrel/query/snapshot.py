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

from whimbrel.archive.read import StoredCapture, read_capture
from whimbrel.facts.api import TABLES, FactsDamaged
from whimbrel.facts.batch import read_payload_tables
from whimbrel.facts.frame import FrameBroken, heads, read_payload
from whimbrel.facts.name import parquet_name, tail_number
from whimbrel.facts.schema import schema


class SnapshotGone(Exception):
    """A listed file is not there any more: the crawl has gone on. Read what is committed now, and try again."""


class Snapshot:
    """Give it what `COMMITTED` lists; files that are not facts are passed over. Reads when first asked."""

    def __init__(self, directory: Path, files: dict[str, int], parquet: list[str]) -> None:
        self.directory = directory
        self._segments = {name: length for name, length in files.items() if name.startswith("archive/")}
        tails = [(number, name) for name in files if (number := tail_number(name)) is not None]
        self._tails = {name: files[name] for _, name in sorted(tails)}
        self._parquet = parquet

    def hold(self) -> None:
        """Read the tails and find the Parquet files now. Raises SnapshotGone; later calls cannot."""
        _ = self.tails, self.parquet

    @cached_property
    def tails(self) -> dict[str, pa.Table]:
        """For each table the rows that are not in Parquet yet, in order of the commits."""
        parts: dict[str, list[pa.Table]] = {table: [schema(table).empty_table()] for table in TABLES}
        with ExitStack() as stack:
            opened = [(name, self._open(name, stack), length) for name, length in self._tails.items()]
            for name, fd, length in opened:
                try:
                    for head in heads(fd, length):
                        for table, rows in read_payload_tables(read_payload(fd, head)).items():
                            known = rows.cast(schema(table)) if table in TABLES else rows
                            parts.setdefault(table, []).append(known)
                except FrameBroken as error:
                    raise FactsDamaged(f"{name} is damaged {error}") from error
        return {table: pa.concat_tables(of_table, promote_options="permissive") for table, of_table in parts.items()}

    @cached_property
    def parquet(self) -> dict[str, list[Path]]:
        """For each table its Parquet files, in order of the commits."""
        found: dict[str, list[tuple[int, Path]]] = {table: [] for table in TABLES}
        for name in self._parquet:
            parts = parquet_name(name)
            if parts is None:
                continue
            path = self.directory / name
            if not path.exists():
                raise SnapshotGone(f"{name} is gone")
            found.setdefault(parts.table, []).append((parts.number, path.absolute()))
        return {table: [path for _, path in sorted(files)] for table, files in found.items()}

    @cached_property
    def items(self) -> list[str]:
        """The tables that the user's handlers filled."""
        return sorted({*self.tails, *self.parquet} - set(TABLES))

    def tables(self) -> dict[str, "pa.Table | ds.Dataset"]:
        """All rows of each of Whimbrel's own tables; of `hosts` the latest of each host. Datasets read their files when
        they are asked."""
        found = {table: self._whole(table) for table in TABLES}
        hosts = found["hosts"]
        found["hosts"] = latest_hosts(hosts if isinstance(hosts, pa.Table) else hosts.to_table(use_threads=False))
        return found

    def stored(self, file: str, offset: int, length: int) -> StoredCapture:
        """The record that `warc_file`, `warc_offset` and `warc_length` of a page name. Only what this commit lists is
        read, whoever asks: ValueError for any other place. Raises SegmentDamaged, or OSError."""
        if offset < 0 or length <= 0 or offset + length > self._segments.get(file, 0):
            raise ValueError(f"{file} has no committed record of {length} bytes at {offset}")
        return read_capture(self.directory, file, offset, length)

    def _whole(self, table: str) -> "pa.Table | ds.Dataset":
        tail, files = self.tails[table], [str(path) for path in self.parquet[table]]
        if not files:
            return tail
        return ds.dataset([ds.dataset(files, schema=schema(table), format="parquet"), ds.dataset(tail)])

    def _open(self, name: str, stack: ExitStack) -> int:
        try:
            fd = os.open(self.directory / name, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError as error:
            raise SnapshotGone(f"{name} is gone") from error
        stack.callback(os.close, fd)
        return fd


def latest_hosts(hosts: pa.Table) -> pa.Table:
    """The last row of each host, in the order of those rows."""
    numbered = hosts.select(["host"]).append_column("at", pa.array(range(hosts.num_rows), pa.int64()))
    last = numbered.group_by("host").aggregate([("at", "max")])["at_max"]
    return hosts.take(last.take(pc.sort_indices(last)))
