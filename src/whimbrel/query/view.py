"""The tables of one crawl or of several as views of a DuckDB.

With several crawls every view has one more column, `crawl`: the name of the directory a row comes from.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from whimbrel.facts.api import TABLES
from whimbrel.query.snapshot import Snapshot, latest_hosts

_PATTERN: Final = re.compile(r"[*?\[\]{}]")
"""What DuckDB takes for a pattern in a file's name. It cannot be escaped there."""
_HIDDEN: Final = "_rows"
"""Registered rows have names that begin so; the views hide them from who reads the manual."""

_COMPUTED: Final = {("pages", "simhash"): 'coalesce("simhash", _simhash("text")) AS simhash'}
"""What a query fills in where the crawl left it out."""

# S608 below: tables and columns are our own names, and everything else is quoted.


def make_views(connection: duckdb.DuckDBPyConnection, crawls: Sequence[Snapshot]) -> None:
    """One for each table; and `_all_pages`, where `_crawl` is the number of the crawl."""
    for table in TABLES:
        parts = [_part(connection, table, at, crawl) for at, crawl in enumerate(crawls)]
        if table == "pages":
            numbered = (f"SELECT *, {at} AS _crawl FROM ({part})" for at, part in enumerate(parts))  # noqa: S608
            connection.execute(f"CREATE VIEW _all_pages AS {' UNION ALL '.join(numbered)}")
        if len(crawls) > 1:
            named = zip(crawl_names(crawls), parts, strict=True)
            parts = [f"SELECT *, {literal(name)} AS crawl FROM ({part})" for name, part in named]  # noqa: S608
        connection.execute(f"CREATE VIEW {table} AS {' UNION ALL '.join(parts)}")
    for table in sorted({name for crawl in crawls for name in crawl.items}):
        _make_item_views(connection, table, crawls)


def _make_item_views(connection: duckdb.DuckDBPyConnection, table: str, crawls: Sequence[Snapshot]) -> None:
    """TABLE has the items of the last time that handlers looked at each page, and of those with one key the last;
    TABLE_history has all, with where and when they come from and the version of the code that made them."""
    latest, history = [], []
    for at, (name, crawl) in enumerate(zip(crawl_names(crawls), crawls, strict=True)):
        if table in crawl.items:
            items, handled = _items(connection, table, at, crawl), _part(connection, "handled", at, crawl)
            source = f", {literal(name)} AS crawl" if len(crawls) > 1 else ""
            latest.append(f"""
                SELECT * EXCLUDE (_run, _page, _at, _key){source} FROM ({items}) item
                SEMI JOIN (SELECT max_by(run, "at") AS run FROM ({handled}) GROUP BY url) last ON item._run = last.run
                QUALIFY row_number() OVER (PARTITION BY item._key ORDER BY item._at DESC, item._run) = 1""")  # noqa: S608
            history.append(f"""
                SELECT item.* EXCLUDE (_run, _key), run.version AS _version{source}
                FROM ({items}) item JOIN ({handled}) run ON item._run = run.run""")  # noqa: S608
    for name, parts in ((table, latest), (f"{table}_history", history)):
        connection.execute(f'CREATE VIEW "{name}" AS {" UNION ALL BY NAME ".join(parts)}')


def _items(connection: duckdb.DuckDBPyConnection, table: str, at: int, crawl: Snapshot) -> str:
    """Columns may differ from file to file: handlers change."""
    files = [str(path) for path in crawl.parquet.get(table, [])]
    parts, rows = [], f"{_HIDDEN}_{table}_{at}"
    tail = crawl.tails.get(table)
    if any(_PATTERN.search(file) for file in files):
        read = [pq.read_table(pa.BufferReader(Path(file).read_bytes())) for file in files]
        tail = pa.concat_tables([*read, *([] if tail is None else [tail])], promote_options="permissive")
        files = []
    if files:
        parts.append(f"SELECT * FROM read_parquet({literals(files)}, hive_partitioning = false, union_by_name = true)")  # noqa: S608
    if tail is not None:
        connection.register(rows, tail)
        parts.append(f"SELECT * FROM {rows}")  # noqa: S608
    return " UNION ALL BY NAME ".join(parts)


def crawl_names(crawls: Sequence[Snapshot]) -> list[str]:
    """The names of the directories; in full where two are the same."""
    short = [crawl.directory.resolve().name for crawl in crawls]
    return [name if short.count(name) == 1 else str(crawl.directory) for name, crawl in zip(short, crawls, strict=True)]


def _part(connection: duckdb.DuckDBPyConnection, table: str, at: int, crawl: Snapshot) -> str:
    """One crawl's rows of a table, as a SELECT."""
    files = [str(path) for path in crawl.parquet[table]]
    rows = f"{_HIDDEN}_{table}_{at}"
    if any(_PATTERN.search(file) for file in files):
        connection.register(rows, crawl.tables()[table])
        return f"SELECT {_columns(table)} FROM {rows}"  # noqa: S608
    tail = crawl.tails[table]
    connection.register(rows, latest_hosts(tail) if table == "hosts" else tail)
    return (_latest if table == "hosts" else _all)(table, files, rows)


def _all(table: str, files: list[str], rows: str) -> str:
    columns = _columns(table)
    tail = f"SELECT {columns} FROM {rows}"  # noqa: S608
    # Without hive_partitioning=false a directory named `a=b` would become a column.
    parquet = f"SELECT {columns} FROM read_parquet({literals(files)}, hive_partitioning = false)"  # noqa: S608
    return f"{parquet} UNION ALL {tail}" if files else tail


def _latest(table: str, files: list[str], rows: str) -> str:
    """The last row of each host: the tail has one per host, and is later than all Parquet."""
    if not files:
        return _all(table, files, rows)
    columns = _columns(table)
    options = "hive_partitioning = false, filename = true, file_row_number = true"
    return f"""
        SELECT {columns} FROM (
            SELECT {columns}, file_row_number AS _row,
                   CAST(regexp_extract(filename, '-(\\d+)\\.parquet$', 1) AS BIGINT) AS _file
            FROM read_parquet({literals(files)}, {options})
            UNION ALL SELECT {columns}, 0, 9223372036854775807 FROM {rows}
        ) QUALIFY row_number() OVER (PARTITION BY host ORDER BY _file DESC, _row DESC) = 1"""  # noqa: S608


def _columns(table: str) -> str:
    return ", ".join(_COMPUTED.get((table, name), f'"{name}"') for name, _ in TABLES[table])


def literals(values: Sequence[str]) -> str:
    return "[" + ", ".join(map(literal, values)) + "]"


def literal(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
