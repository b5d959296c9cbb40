"""The tables as Arrow schemas.

Importing this module imports pyarrow, which takes a fifth of a second: import it inside functions.
"""

from collections.abc import Sequence
from typing import Final

import pyarrow as pa

from whimbrel.facts.api import TABLES

TIME: Final = "time"

_TYPES: Final = {
    "key": pa.uint64(),
    "string": pa.string(),
    "int16": pa.int16(),
    "int32": pa.int32(),
    "int64": pa.int64(),
    "float": pa.float64(),
    "bool": pa.bool_(),
    "bytes": pa.binary(),
    "date": pa.date32(),
    "strings": pa.list_(pa.string()),
    "json": pa.string(),
    TIME: pa.timestamp("us", tz="UTC"),
}

_PLAIN: Final = {
    "captures": ("url", "title", "description", "digest", "etag", "last_modified", "canonical", "text", "duplicate_of"),
    "links": ("target", "anchor"),
    "fetches": ("url", "redirect_to", "discovered_from"),
    "hosts": ("site", "host"),
    "events": ("detail",),
    "handled": ("url", "error", "printed"),
}
"""Columns whose values hardly repeat: a dictionary for them costs time and saves nothing."""


def schema(table: str) -> pa.Schema:
    """As readers see the table, and as Parquet keeps it."""
    return schema_of(TABLES[table])


def schema_of(columns: Sequence[tuple[str, str]]) -> pa.Schema:
    return pa.schema([(name, _TYPES[kind]) for name, kind in columns])


def type_of(kind: str) -> pa.DataType:
    return _TYPES[kind]


def tail_schema(table: str) -> pa.Schema:
    """As the tail keeps the table: the source of links by number, since it is the same for a whole page."""
    wanted = schema(table)
    if table != "links":
        return wanted
    at = wanted.get_field_index("source")
    return wanted.set(at, pa.field("source", pa.dictionary(pa.int32(), pa.string())))


def dictionary_columns(table: str) -> list[str] | bool:
    """The columns that Parquet should keep with a dictionary; all of a user's table."""
    if table not in TABLES:
        return True
    return [name for name, kind in TABLES[table] if kind == "string" and name not in _PLAIN[table]]
