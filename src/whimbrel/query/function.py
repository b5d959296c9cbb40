"""What SQL can say about URLs and documents, beyond what DuckDB knows.

| function | |
|---|---|
| `host(url)` | its host, as the tables write it |
| `site(url)` | its scheme, host and port, as the tables write them |
| `path_depth(url)` | segments of its path that are not empty |
| `registered_domain(url)` | what somebody registered, by the public suffix list; also of a bare host |
| `surt(url)` | the sort-friendly form that web archives index by |
| `body(url)` | the document as BLOB, content codings taken off; of a duplicate, the one it repeats |
| `headers(url)` | the answer's headers as MAP, names in lower case |
| `hamming(a, b)` | in how many bits two numbers differ, such as two SimHashes (`near.py`) |

The first three are macros, which DuckDB computes itself. The others are Python's: they are called with a column at a
time and look at each value once. `body` and `headers` find the place in the archive of the capture that `pages` shows;
of several crawls, that of the one that was fetched last.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import duckdb
import pyarrow as pa
from duckdb.func import FunctionNullHandling, PythonUDFType

from whimbrel.archive.head import head_fields
from whimbrel.archive.read import StoredCapture
from whimbrel.error import Damaged
from whimbrel.facts.legacy import url_id_column
from whimbrel.query.document import decoded_body
from whimbrel.query.snapshot import Snapshot
from whimbrel.url.domain import Domains
from whimbrel.url.surt import surt

_MOST_BYTES: Final = 256_000_000
_URL_MACROS: Final = (
    r"host(url) AS regexp_extract(url, '^https?://(\[[^\]]*\]|[^/:?#]*)', 1)",
    r"""site(url) AS split_part(url, '/', 1) || '//' || split_part(url, '/', 3) || CASE
        WHEN regexp_matches(split_part(url, '/', 3), ':\d+$') THEN ''
        WHEN starts_with(url, 'https:') THEN ':443' ELSE ':80' END""",
    r"""path_depth(url) AS len(list_filter(
        string_split(regexp_extract(url, '^https?://[^/?#]*([^?#]*)', 1), '/'), lambda part: part <> ''))""",
)
_MACROS: Final = (
    "registered_domain(url) AS _domain(CASE WHEN contains(url, '://') THEN host(url) ELSE url END)",
    # The place is looked for first, and read for the rows of the answer only.
    "headers(wanted) AS _headers((SELECT max_by(_place, _at) FROM _page_places WHERE _url = wanted))",
    """body(wanted) AS _body((
        SELECT max_by(CASE page._repeats WHEN '' THEN page._place ELSE whole._place END, page._at)
        FROM _page_places page LEFT JOIN _content_places whole
        ON whole._crawl = page._crawl AND whole._capture = page._original AND whole._repeats = ''
        WHERE page._url = wanted))""",
)
_PLACES: Final = """
    url AS _url, fetched_at AS _at, duplicate_of AS _repeats, duplicate_of_id AS _original, capture_id AS _capture,
    _crawl, struct_pack(c := _crawl, f := warc_file, o := warc_offset, l := warc_length) AS _place"""
"""With names of their own: an argument of a macro is put into it as it is written, and `url` would mean this one."""
_PLACE: Final = ["STRUCT(c INTEGER, f VARCHAR, o BIGINT, l BIGINT)"]


class TooMuchAtOnce(Exception):
    """Documents of one step of a query that do not fit into memory together."""


def add_url_functions(connection: duckdb.DuckDBPyConnection) -> None:
    """What the views need."""
    connection.create_function(
        "_url_id",
        url_id_column,
        ["VARCHAR"],
        "UBIGINT",
        type=PythonUDFType.ARROW,
        null_handling=FunctionNullHandling.SPECIAL,
    )
    for macro in _URL_MACROS:
        connection.execute(f"CREATE MACRO {macro}")


def add_functions(connection: duckdb.DuckDBPyConnection, crawls: Sequence[Snapshot]) -> "DocumentColumns":
    """The views must be there already."""
    archive = DocumentColumns(crawls)
    python: tuple[tuple[str, Callable[..., Any], list[Any], str], ...] = (
        ("_domain", _each(Domains().registered), ["VARCHAR"], "VARCHAR"),
        ("surt", _each(surt), ["VARCHAR"], "VARCHAR"),
        ("_headers", archive.headers, _PLACE, "MAP(VARCHAR, VARCHAR)"),
        ("_body", archive.bodies, _PLACE, "BLOB"),
    )
    for name, function, parameters, result in python:
        connection.create_function(name, function, parameters, result, type=PythonUDFType.ARROW)
    for view, source in (("_page_places", "_pages"), ("_content_places", "_contents")):
        connection.execute(f"CREATE VIEW {view} AS SELECT {_PLACES} FROM {source}")  # noqa: S608 - our own names
    for macro in _MACROS:
        connection.execute(f"CREATE MACRO {macro}")
    return archive


def _each(function: Callable[[str], str]) -> "Callable[[pa.ChunkedArray], pa.Array]":
    """For a column: each of its different values once."""

    def map_column(column: pa.ChunkedArray) -> pa.Array:
        encoded = column.combine_chunks().dictionary_encode()
        found = [None if value is None else function(value) for value in encoded.dictionary.to_pylist()]
        return pa.array(found, pa.string()).take(encoded.indices)

    return map_column


class DocumentColumns:
    """`body` and `headers` of a column of places."""

    def __init__(self, crawls: Sequence[Snapshot]) -> None:
        self._crawls = crawls
        self.damage: Damaged | None = None
        """What could not be read. DuckDB hands on no error of Python's but its text."""

    def headers(self, places: "pa.ChunkedArray") -> "pa.Array":
        found = [
            None if stored is None else list(head_fields(stored.http_head).items()) for stored in self._read(places)
        ]
        return pa.array(found, pa.map_(pa.string(), pa.string()))

    def bodies(self, places: "pa.ChunkedArray") -> "pa.Array":
        found: list[bytes | None] = []
        size = 0
        for stored in self._read(places):
            body = None if stored is None else decoded_body(stored)
            size += len(body or b"")
            if size > _MOST_BYTES:
                raise TooMuchAtOnce(
                    f"body() of over {_MOST_BYTES / 1e6:.0f} MB at once; ask for fewer pages, or read them one by one: "
                    "whimbrel.open(DIR).documents()"
                )
            found.append(body)
        return pa.array(found, pa.binary())

    def _read(self, places: "pa.ChunkedArray") -> Iterator[StoredCapture | None]:
        """None where nothing was kept."""
        for place in places.to_pylist():
            try:
                nothing = place is None or not place["f"]
                yield None if nothing else self._crawls[place["c"]].stored(place["f"], place["o"], place["l"])
            except Damaged as error:
                self.damage = error
                raise
