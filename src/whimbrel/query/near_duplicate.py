"""Near-duplicates in SQL: the column `pages.simhash`, the view `near_duplicates` and the function `hamming`.

A crawl that did not compute the hashes has texts: a hash that is not in the table is computed from the text when a
query asks for it, 30 µs for 25 KB.

Two hashes that differ in at most three of their 64 bits have one of their four quarters in common. So each different
hash goes into four buckets, one for each quarter, and only those of one bucket are compared: with a million pages 15
others for each instead of a million. All of it is a join inside DuckDB, made when somebody asks; a million pages take
about 3 s on one thread.
"""

from typing import Final

import duckdb
import pyarrow as pa
from duckdb.func import FunctionNullHandling, PythonUDFType

from whimbrel.dedupe.simhash import simhashes

MOST_BITS: Final = 3
NEAR_DUPLICATES: Final = "near_duplicates"

_QUARTERS: Final = (
    "_hash & 65535, 65536 + (_hash >> 16 & 65535), 131072 + (_hash >> 32 & 65535), 196608 + (_hash >> 48)"
)


def add_simhash(connection: duckdb.DuckDBPyConnection) -> None:
    """The function that the view of pages needs."""
    connection.create_function(
        "_simhash",
        _simhash,
        ["VARCHAR"],
        "UBIGINT",
        type=PythonUDFType.ARROW,
        null_handling=FunctionNullHandling.SPECIAL,
    )


def _simhash(texts: "pa.ChunkedArray") -> "pa.Array":
    return pa.array(simhashes([text or "" for text in texts.to_pylist()]), pa.uint64())


def add_near_duplicates(connection: duckdb.DuckDBPyConnection, *, several: bool) -> None:
    """The view of pages must be there already; with several crawls it says which one a page is of."""
    connection.execute("CREATE MACRO hamming(one, other) AS bit_count(xor(one, other))")
    crawl, original_crawl, first_crawl = "", "", ""
    if several:
        crawl, original_crawl = "page.crawl AS crawl,", "original._crawl AS original_crawl,"
        first_crawl = "min_by(crawl, fetched_at) AS _crawl,"
    connection.execute(f"""
        CREATE VIEW {NEAR_DUPLICATES} AS
        WITH _firsts AS (
            SELECT simhash AS _hash, min_by(url, fetched_at) AS _url, {first_crawl} min(fetched_at) AS _at
            FROM pages WHERE simhash IS NOT NULL GROUP BY simhash
        ), _buckets AS (
            SELECT _hash, _at, CAST(unnest([{_QUARTERS}]) AS UINTEGER) AS _bucket FROM _firsts
        ), _nearest AS (
            SELECT later._hash AS _hash, min_by(earlier._hash, earlier._at) AS _original
            FROM _buckets later JOIN _buckets earlier USING (_bucket)
            WHERE earlier._at < later._at AND hamming(later._hash, earlier._hash) <= {MOST_BITS}
            GROUP BY later._hash
        )
        SELECT page.url AS url, {crawl} original._url AS original, {original_crawl}
               hamming(page.simhash, original._hash) AS distance
        FROM pages page LEFT JOIN _nearest ON page.simhash = _nearest._hash
        JOIN _firsts original ON original._hash = coalesce(_nearest._original, page.simhash)
        WHERE page.url <> original._url""")  # noqa: S608 - our own names and numbers
