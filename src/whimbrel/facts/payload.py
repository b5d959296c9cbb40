"""Rows to Arrow and back: the payload of a frame.

A payload is a directory and one Arrow stream per table that has rows. Each stream carries its schema, so that a tail
written by an earlier version can still be read. Arrow wants its buffers at multiples of 8 bytes, so the directory is
padded.

Measured for a page of 47 links: joining the lists and making arrays costs about 13 us, of which the columns of strings
are most. A tuple per link costs twice that.
"""

import math
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, groupby
from operator import itemgetter
from typing import Any, Final

import msgspec
import pyarrow as pa
from msgspec.structs import astuple

from whimbrel.facts.api import TABLES
from whimbrel.facts.frame import FrameBroken
from whimbrel.facts.item import ItemRows
from whimbrel.facts.legacy import present_name, upgraded
from whimbrel.facts.links import PageLinks
from whimbrel.facts.row import Row
from whimbrel.facts.schema import TIME, schema_of, tail_schema, type_of

FactRows = Mapping[str, Sequence[tuple[Any, ...] | Row | PageLinks] | ItemRows]
"""As `Rows`."""

_ALIGN: Final = 8
_EARLIEST_S: Final = -62_135_596_800.0
_LATEST_S: Final = 253_402_300_799.0
"""The years 1 and 9999: what datetime and most databases can show. Times beyond (never, infinity) are set to these."""


def payload(rows: FactRows) -> list[bytes | memoryview]:
    """The parts of a payload; empty when there are no rows at all. An unknown table is a KeyError."""
    streams = {table: _stream(arrow_table(table, of_table)) for table, of_table in rows.items() if of_table}
    if not streams:
        return []
    listed = msgspec.json.encode([(table, stream.nbytes) for table, stream in streams.items()])
    size = len(listed) + -(len(listed) + 4) % _ALIGN
    return [size.to_bytes(4, "little") + listed.ljust(size), *streams.values()]


def read_payload_tables(data: bytes | memoryview, offset: int, copied_bytes: int = 0) -> dict[str, pa.Table]:
    """The tables of a payload in their present form, without a copy: they keep `data` alive. Tables of up to
    `copied_bytes` do not. FrameBroken, which names the `offset` of the frame, when they cannot be read."""
    try:
        return _read_tables(data, copied_bytes)
    except (msgspec.DecodeError, pa.ArrowException, ValueError, OSError, KeyError) as error:
        raise FrameBroken(offset, f"its tables cannot be read: {error}") from error


def _read_tables(data: bytes | memoryview, copied_bytes: int) -> dict[str, pa.Table]:
    size = int.from_bytes(data[:4], "little")
    listed = msgspec.json.decode(data[4 : 4 + size], type=list[tuple[str, int]])
    whole, offset, tables = pa.py_buffer(data), 4 + size, {}
    for table, length in listed:
        if not 0 <= length <= whole.size - offset:
            raise ValueError(f"table {table} has {length} bytes of {whole.size - offset}")
        part = whole.slice(offset, length)
        with pa.ipc.open_stream(pa.py_buffer(part.to_pybytes()) if length <= copied_bytes else part) as stream:
            tables[table] = stream.read_all()
        offset += length
    return {present_name(table): upgraded(table, rows) for table, rows in tables.items()}


def arrow_table(table: str, rows: Sequence[tuple[Any, ...] | Row | PageLinks] | ItemRows) -> pa.Table:
    """The rows of one table as the tail keeps them."""
    if isinstance(rows, ItemRows):
        return _table(table, rows.columns, rows.rows)
    if table == "links":
        return pa.Table.from_arrays(_link_columns(list(_by_page(rows))), schema=tail_schema(table))
    return _table(table, TABLES[table], rows)


def _table(table: str, columns: Sequence[tuple[str, str]], rows: Sequence[Any]) -> pa.Table:
    wanted = schema_of(columns)
    if not rows:
        return wanted.empty_table()
    found = list(zip(*(map(astuple, rows) if isinstance(rows[0], Row) else rows), strict=True))
    if len(found) != len(wanted):
        raise ValueError(f"a row of {table} has {len(wanted)} columns, not {len(found)}")
    arrays = [column_array(column, kind) for (_, kind), column in zip(columns, found, strict=True)]
    return pa.Table.from_arrays(arrays, schema=wanted)


def column_array(values: Sequence[Any], kind: str) -> pa.Array:
    """The values of a column of one of our kinds. Whatever Arrow raises for a value that it cannot hold."""
    return _array(_times(values) if kind == TIME else values, type_of(kind))


def _stream(table: pa.Table) -> memoryview:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return memoryview(sink.getvalue())


def _by_page(rows: Sequence[tuple[Any, ...] | Row | PageLinks]) -> Iterator[PageLinks]:
    """Pages as they are; tuples that follow each other and have one source, joined."""
    singles: list[tuple[Any, ...]] = []
    for row in rows:
        if isinstance(row, tuple):
            singles.append(row)
        elif isinstance(row, PageLinks):
            yield from _from_tuples(singles)
            singles = []
            yield row
    yield from _from_tuples(singles)


def _from_tuples(rows: list[tuple[Any, ...]]) -> Iterator[PageLinks]:
    for (capture, key, source), links in groupby(rows, itemgetter(0, 1, 3)):
        _, _, target_keys, _, targets, anchors, rels, kinds = map(list, zip(*links, strict=True))
        yield PageLinks(capture, key, source, target_keys, targets, anchors, rels, kinds)


def _link_columns(pages: list[PageLinks]) -> list[pa.Array]:
    captures, keys, indices, sources = array("Q"), array("Q"), array("i"), dict[str, int]()
    for page in pages:
        count = len(page.targets)
        # An array is repeated and copied as bytes; a list would be read number by number.
        captures += array("Q", (page.capture_id,)) * count
        keys += array("Q", (page.source_key,)) * count
        indices += array("i", (sources.setdefault(page.source, len(sources)),)) * count
    numbers = pa.Array.from_buffers(pa.int32(), len(indices), [None, pa.py_buffer(indices)])
    return [
        pa.Array.from_buffers(pa.uint64(), len(captures), [None, pa.py_buffer(captures)]),
        pa.Array.from_buffers(pa.uint64(), len(keys), [None, pa.py_buffer(keys)]),
        _joined((page.target_keys for page in pages), pa.uint64()),
        pa.DictionaryArray.from_arrays(numbers, _array(list(sources), pa.string())),
        _joined((page.targets for page in pages), pa.string()),
        _joined((page.anchors for page in pages), pa.string()),
        _joined((page.rels for page in pages), pa.string()),
        _joined((page.kinds for page in pages), pa.string()),
    ]


def _joined(lists: Iterable[list[Any]], kind: pa.DataType) -> pa.Array:
    return _array(list(chain.from_iterable(lists)), kind)


def _array(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    try:
        return pa.array(values, kind)
    except UnicodeEncodeError:
        # A lone surrogate, from a page or a header that lies about its encoding: one character is lost, not the page.
        return pa.array([_encodable(value) for value in values], kind)


def _encodable(value: Any) -> Any:
    if isinstance(value, list):
        return [_encodable(one) for one in value]
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value


def _times(values: Iterable[float | None]) -> list[int | None]:
    """Microseconds since 1970."""
    return [
        None if at is None or math.isnan(at) else round(min(max(at, _EARLIEST_S), _LATEST_S) * 1e6) for at in values
    ]
