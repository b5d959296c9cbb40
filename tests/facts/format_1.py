"""Rows as they were written by format 1: two pages of which one repeats the other, their links, hosts and items."""

from typing import Any, Final

from whimbrel.facts.identity import url_id
from whimbrel.facts.item import ItemRows

PAGE, TWIN = "https://a.test/page", "http://[::1]:8080/twin"

_PAGES: Final = (
    ("id", "key"), ("url", "string"), ("host", "string"), ("status", "int16"), ("mime", "string"),
    ("charset", "string"), ("length", "int64"), ("wire_bytes", "int64"), ("title", "string"),
    ("description", "string"), ("language", "string"), ("canonical", "string"), ("robots_meta", "string"),
    ("depth", "int32"), ("fetched_at", "time"), ("etag", "string"), ("last_modified", "string"),
    ("digest", "string"), ("fingerprint", "key"), ("simhash", "key"), ("duplicate_of", "string"),
    ("truncated", "string"), ("warc_file", "string"), ("warc_offset", "int64"), ("warc_length", "int64"),
    ("text", "string"),
)  # fmt: skip
_LINKS: Final = (
    ("source_key", "key"), ("target_key", "key"), ("source", "string"), ("target", "string"),
    ("anchor", "string"), ("rel", "string"), ("kind", "string"),
)  # fmt: skip
_HOSTS: Final = (
    ("host", "string"), ("domain", "string"), ("slot", "int16"), ("ip", "string"), ("qualification", "string"),
    ("until", "time"), ("robots_date", "time"), ("robots_status", "int16"), ("robots_failures", "int32"),
    ("delay_s", "float"), ("queued", "int64"), ("fetched", "int64"), ("failed", "int64"), ("last_error", "string"),
)  # fmt: skip
_HANDLED: Final = (
    ("run", "key"), ("url", "string"), ("handlers", "string"), ("version", "string"), ("at", "time"),
    ("outcome", "string"), ("items", "int32"), ("elapsed_ms", "float"), ("error", "string"), ("printed", "string"),
)  # fmt: skip
_TITLE: Final = (("title", "string"), ("_run", "key"), ("_page", "string"), ("_at", "time"), ("_key", "bytes"))


def rows() -> dict[str, ItemRows]:
    """What one commit wrote."""
    return {
        "pages": _made(
            _PAGES,
            {"id": url_id(PAGE), "url": PAGE, "host": "a.test", "title": "one", "fetched_at": 1.0, "duplicate_of": ""},
            {"id": url_id(TWIN), "url": TWIN, "host": "[::1]", "title": "two", "fetched_at": 2.0, "duplicate_of": PAGE},
        ),
        "links": _made(_LINKS, {"source_key": url_id(PAGE), "target_key": 3, "source": PAGE, "target": TWIN}),
        "hosts": _made(
            _HOSTS,
            {"host": "https://a.test:443", "queued": 5},
            {"host": "http://[::1]:8080", "queued": 1},
            {"host": "https://a.test:443", "queued": 4},
        ),
        "handled": _made(_HANDLED, {"run": 7, "url": PAGE, "version": "v1", "at": 3.0, "outcome": "ok", "items": 1}),
        "title": _made(_TITLE, {"title": "one", "_run": 7, "_page": PAGE, "_at": 3.0, "_key": b"k"}),
    }


def _made(columns: tuple[tuple[str, str], ...], *rows: dict[str, Any]) -> ItemRows:
    """Such rows bring their columns along, so that any can be written."""
    blank = {"string": "", "key": 0, "time": None}
    return ItemRows(columns, [tuple(row.get(name, blank.get(kind, 0)) for name, kind in columns) for row in rows])
