"""Some columns of one table, from the files that a commit lists, in bounded memory."""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from whimbrel.facts.api import FactsDamaged
from whimbrel.facts.frame import FrameBroken, heads, read_payload
from whimbrel.facts.name import parquet_name, tail_number
from whimbrel.facts.payload import read_payload_tables

_ROWS: Final = 20_000


def read_columns(
    directory: Path, table: str, columns: Sequence[str], files: Mapping[str, int], parquet: Sequence[str]
) -> Iterator[pa.RecordBatch]:
    """Rows in the order of commits within each file. `files` has the committed lengths of tails; others are passed
    over. FactsDamaged when a file is not what was committed."""
    for name in parquet:
        found = parquet_name(name)
        if found is not None and found.table == table:
            yield from _parquet_batches(directory / name, name, columns)
    for name, length in files.items():
        if tail_number(name) is not None:
            yield from _tail_batches(directory / name, name, length, table, columns)


def _parquet_batches(path: Path, name: str, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    try:
        with pq.ParquetFile(path) as file:
            yield from file.iter_batches(_ROWS, columns=list(columns))
    except FileNotFoundError as error:
        raise FactsDamaged(f"{name} is missing") from error
    except (pa.ArrowException, OSError) as error:  # Arrow says OSError for data that it cannot decode.
        raise FactsDamaged(f"{name} is damaged: {error}") from error


def _tail_batches(path: Path, name: str, length: int, table: str, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        for head in heads(descriptor, length):
            rows = read_payload_tables(read_payload(descriptor, head), head.offset).get(table)
            if rows is not None:
                yield from rows.select(list(columns)).to_batches()
    except FrameBroken as error:
        raise FactsDamaged(f"{name} is damaged {error}") from error
    except KeyError as error:
        raise FactsDamaged(f"{name} is damaged: its table {table} lacks a column: {error}") from error
    finally:
        os.close(descriptor)
