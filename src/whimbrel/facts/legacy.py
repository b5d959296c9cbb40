"""Tables of format 1, read as if they had been written today.

Up to format 1 there was one row for each page, in a table `pages`; `hosts.host` was a site; and links, items and rows
of `handled` did not say which capture they come from. A URL had one capture, so the id of the URL stands for it.

`FORMAT_1` says where each new column comes from, once; both forms are made of it: Arrow for rows in tails, and SQL for
Parquet files that DuckDB reads. The SQL calls `_url_id` and `host`, which the reader's database must have.
"""

from collections.abc import Collection, Mapping
from typing import Final, NamedTuple, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from whimbrel.facts.api import TABLES
from whimbrel.facts.identity import url_id
from whimbrel.facts.schema import schema_of, tail_schema

_SITE: Final = r"^https?://(\[[^\]]*\]|[^/:]*).*$"


class ColumnSource(Protocol):
    """Where a column's values come from."""

    def sql(self) -> str: ...

    def arrow(self, old: pa.Table) -> pa.Array | pa.ChunkedArray: ...


class Copied(NamedTuple):
    column: str

    def sql(self) -> str:
        return f'"{self.column}"'

    def arrow(self, old: pa.Table) -> pa.ChunkedArray:
        return old[self.column]


class Constant(NamedTuple):
    value: str

    def sql(self) -> str:
        return f"'{self.value}'"

    def arrow(self, old: pa.Table) -> pa.Array:
        return pa.repeat(self.value, old.num_rows)


class OutcomeOf(NamedTuple):
    """By the column that names the original of a duplicate."""

    column: str

    def sql(self) -> str:
        return f"""CASE "{self.column}" WHEN '' THEN 'stored' ELSE 'duplicate' END"""

    def arrow(self, old: pa.Table) -> pa.ChunkedArray:
        return pc.if_else(pc.equal(old[self.column], ""), "stored", "duplicate")


class UrlIdOf(NamedTuple):
    """NULL of an empty text."""

    column: str

    def sql(self) -> str:
        return f'_url_id("{self.column}")'

    def arrow(self, old: pa.Table) -> pa.Array:
        return url_id_column(old[self.column])


class HostOf(NamedTuple):
    """The name in a site."""

    column: str

    def sql(self) -> str:
        return f'host("{self.column}")'

    def arrow(self, old: pa.Table) -> pa.ChunkedArray:
        return pc.replace_substring_regex(old[self.column], _SITE, r"\1")


FORMAT_1: Final[dict[str, Mapping[str, ColumnSource]]] = {
    "captures": {
        "capture_id": Copied("id"),
        "outcome": OutcomeOf("duplicate_of"),
        "via": Constant("fetch"),
        "duplicate_of_id": UrlIdOf("duplicate_of"),
    },
    "links": {"capture_id": Copied("source_key")},
    "hosts": {"site": Copied("host"), "host": HostOf("host")},
    "handled": {"capture_id": UrlIdOf("url")},
}
"""The columns that are new, or mean something else now, of each table. All others are as they were."""

ITEMS: Final[Mapping[str, ColumnSource]] = {"_capture_id": UrlIdOf("_page")}
"""Likewise, of tables that users' handlers fill."""

_RENAMED: Final = {"pages": "captures"}


def present_name(table: str) -> str:
    """What a table is called now."""
    return _RENAMED.get(table, table)


def is_old(table: str, columns: Collection[str]) -> bool:
    """Whether rows with these columns are of format 1. `table` is its present name."""
    return not set(_sources(table)).issubset(columns)


def columns_sql(table: str) -> dict[str, str]:
    """For each column of a table an expression over its old columns."""
    sources = FORMAT_1.get(table, {})
    return {name: sources[name].sql() if name in sources else f'"{name}"' for name, _ in TABLES[table]}


def upgraded(table: str, rows: pa.Table) -> pa.Table:
    """Rows as they are written now: themselves, unless they are of format 1. `table` is the name they were written
    under."""
    table = present_name(table)
    if not is_old(table, rows.column_names):
        return rows
    sources = _sources(table)
    if table not in TABLES:
        for name, source in sources.items():
            rows = rows.append_column(schema_of([(name, "key")]).field(0), source.arrow(rows))
        return rows
    wanted = tail_schema(table)
    columns = [
        (sources[field.name].arrow(rows) if field.name in sources else rows[field.name]).cast(field.type)
        for field in wanted
    ]
    return pa.Table.from_arrays(columns, schema=wanted)


def url_id_column(urls: pa.ChunkedArray) -> pa.Array:
    """The ids of a column of URLs; NULL where there is none."""
    encoded = urls.combine_chunks().dictionary_encode()
    ids = [url_id(text) if text else None for text in encoded.dictionary.to_pylist()]
    return pa.array(ids, pa.uint64()).take(encoded.indices)


def _sources(table: str) -> Mapping[str, ColumnSource]:
    """Nothing, where the format has not changed."""
    return FORMAT_1.get(table, {}) if table in TABLES else ITEMS
