"""The rows of one crawl, table by table, as SELECTs over its Parquet files and the rows of its tails."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from whimbrel.facts.api import TABLES
from whimbrel.facts.legacy import ITEMS, columns_sql, upgraded
from whimbrel.query.snapshot import Snapshot, latest_hosts

_PATTERN: Final = re.compile(r"[*?\[\]{}]")
"""What DuckDB takes for a pattern in a file's name. It cannot be escaped there."""
_HIDDEN: Final = "_rows"
"""Registered rows have names that begin so; the views hide them from who reads the manual."""

_COMPUTED: Final = {("captures", "simhash"): 'coalesce("simhash", _simhash("text")) AS simhash'}
"""What a query fills in where the crawl left it out."""
_WITH_SITE: Final = ("captures", "fetches")
"""Tables that show the site of their URLs, which is not stored."""

# S608 below: tables and columns are our own names, and everything else is quoted.


def table_rows(connection: duckdb.DuckDBPyConnection, table: str, at: int, crawl: Snapshot) -> str:
    """One crawl's rows of a table of ours, as a SELECT; of `hosts` the latest of each site."""
    files, old = _names(crawl.parquet[table]), _names(crawl.old_parquet[table])
    rows = f"{_HIDDEN}_{table}_{at}"
    if any(_PATTERN.search(file) for file in (*files, *old)):
        connection.register(rows, crawl.tables()[table])
        files = old = []
    else:
        tail = crawl.tails[table]
        connection.register(rows, latest_hosts(tail) if table == "hosts" else tail)
    if table == "hosts" and (files or old):
        return _latest_hosts(files, old, rows)
    columns = _columns(table)
    found = f"SELECT {columns} FROM {rows}"  # noqa: S608
    if files:
        found = f"SELECT {columns} FROM {_read(files)} UNION ALL {found}"  # noqa: S608
    return f"SELECT {columns} FROM ({_old(table, old)}) UNION ALL {found}" if old else found  # noqa: S608


def item_rows(connection: duckdb.DuckDBPyConnection, table: str, at: int, crawl: Snapshot) -> str:
    """One crawl's rows of a user's table. Columns may differ from file to file: handlers change."""
    files, old = _names(crawl.parquet.get(table, [])), _names(crawl.old_parquet.get(table, []))
    parts, rows = [], f"{_HIDDEN}_{table}_{at}"
    tail = crawl.tails.get(table)
    if any(_PATTERN.search(file) for file in (*files, *old)):
        read = [upgraded(table, pq.read_table(pa.BufferReader(Path(file).read_bytes()))) for file in (*old, *files)]
        tail = pa.concat_tables([*read, *([] if tail is None else [tail])], promote_options="permissive")
        files = old = []
    if old:
        added = ", ".join(f"{source.sql()} AS {name}" for name, source in ITEMS.items())
        parts.append(f"SELECT *, {added} FROM {_read(old, union_by_name=True)}")  # noqa: S608
    if files:
        parts.append(f"SELECT * FROM {_read(files, union_by_name=True)}")  # noqa: S608
    if tail is not None:
        connection.register(rows, tail)
        parts.append(f"SELECT * FROM {rows}")  # noqa: S608
    return " UNION ALL BY NAME ".join(parts)


def _latest_hosts(files: list[str], old: list[str], rows: str) -> str:
    """The last row of each site: the tail has one per site, and is later than all Parquet."""
    number = r"CAST(regexp_extract(filename, '-(\d+)(\.\d+)?\.parquet$', 1) AS BIGINT) AS _file"
    columns = _columns("hosts")
    parts = [f"SELECT {columns}, 0 AS _row, 9223372036854775807 AS _file FROM {rows}"]  # noqa: S608
    if files:
        source = _read(files, filename=True, file_row_number=True)
        parts.append(f"SELECT {columns}, file_row_number, {number} FROM {source}")  # noqa: S608
    if old:
        parts.append(_old("hosts", old, f"file_row_number, {number}"))
    return f"""
        SELECT {columns} FROM ({" UNION ALL ".join(parts)})
        QUALIFY row_number() OVER (PARTITION BY site ORDER BY _file DESC, _row DESC) = 1"""  # noqa: S608


def _old(table: str, files: list[str], more: str = "") -> str:
    """Files of format 1 with the columns of today."""
    columns = [f'{sql} AS "{name}"' for name, sql in columns_sql(table).items()]
    options = {"filename": True, "file_row_number": True} if more else {}
    return f"SELECT {', '.join([*columns, *([more] if more else [])])} FROM {_read(files, **options)}"  # noqa: S608


def _read(files: list[str], **options: bool) -> str:
    # Without hive_partitioning=false a directory named `a=b` would become a column.
    said = "".join(f", {name} = {str(value).lower()}" for name, value in options.items())
    return f"read_parquet({literals(files)}, hive_partitioning = false{said})"


def _columns(table: str) -> str:
    found = [_COMPUTED.get((table, name), f'"{name}"') for name, _ in TABLES[table]]
    if table in _WITH_SITE:
        found.insert(found.index('"url"') + 1, 'site("url") AS site')
    return ", ".join(found)


def _names(paths: list[Path]) -> list[str]:
    return [str(path) for path in paths]


def literals(values: Sequence[str]) -> str:
    return "[" + ", ".join(map(literal, values)) + "]"


def literal(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
