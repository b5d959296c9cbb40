"""The tables of a crawl as they are stored, and the contract of what keeps them. What SQL shows is made of them
(`query/view.py`): `pages` are the latest captures with content.

Rows come in as `Row`, or as tuples in the order of a table's columns. As with the archive, the committer
decides when.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol

from whimbrel.error import Damaged
from whimbrel.facts.item import ItemRows
from whimbrel.facts.links import PageLinks
from whimbrel.facts.row import Row

Rows = Mapping[str, Sequence[tuple[Any, ...] | Row | PageLinks] | ItemRows]
"""For each table its new rows, in the order of its columns; the links of a page may come together. A table that is not
one of `TABLES` brings its columns along."""

TABLES: Final[dict[str, tuple[tuple[str, str], ...]]] = {
    "captures": (
        ("capture_id", "key"), ("id", "key"), ("url", "string"), ("host", "string"), ("outcome", "string"),
        ("via", "string"), ("status", "int16"), ("mime", "string"), ("charset", "string"), ("length", "int64"),
        ("wire_bytes", "int64"), ("title", "string"), ("description", "string"), ("language", "string"),
        ("canonical", "string"), ("robots_meta", "string"), ("depth", "int32"), ("fetched_at", "time"),
        ("etag", "string"), ("last_modified", "string"), ("digest", "string"), ("fingerprint", "key"),
        ("simhash", "key"), ("duplicate_of", "string"), ("duplicate_of_id", "key"), ("truncated", "string"),
        ("warc_file", "string"), ("warc_offset", "int64"), ("warc_length", "int64"), ("text", "string"),
    ),
    "links": (
        ("capture_id", "key"), ("source_key", "key"), ("target_key", "key"), ("source", "string"), ("target", "string"),
        ("anchor", "string"), ("rel", "string"), ("kind", "string"),
    ),
    "fetches": (
        ("url", "string"), ("host", "string"), ("ip", "string"), ("outcome", "string"), ("reason", "string"),
        ("status", "int16"), ("http_version", "string"), ("started_at", "time"), ("elapsed_ms", "float"),
        ("bytes", "int64"), ("attempt", "int16"), ("redirect_to", "string"), ("retry_at", "time"),
        ("discovered_from", "string"),
    ),
    "hosts": (
        ("site", "string"), ("host", "string"), ("domain", "string"), ("slot", "int16"), ("ip", "string"),
        ("qualification", "string"), ("until", "time"), ("robots_date", "time"), ("robots_status", "int16"),
        ("robots_failures", "int32"), ("delay_s", "float"), ("queued", "int64"), ("fetched", "int64"),
        ("failed", "int64"), ("last_error", "string"),
    ),
    "events": (
        ("at", "time"), ("actor", "string"), ("action", "string"), ("subject", "string"), ("detail", "string"),
    ),
    "handled": (
        ("run", "key"), ("capture_id", "key"), ("url", "string"), ("handlers", "string"), ("version", "string"),
        ("at", "time"), ("outcome", "string"), ("items", "int32"), ("elapsed_ms", "float"), ("error", "string"),
        ("printed", "string"),
    ),
}  # fmt: skip
"""Columns and their kinds: `key` is an unsigned integer of 64 bits, `time` is seconds since 1970 as a float (None: not
set), kept as a timestamp in UTC with microseconds. Items of the user's have kinds of their own beside: `bool`, `bytes`,
`date` (days since 1970), `strings` (a list of them) and `json`. `warc_file`, `warc_offset` and `warc_length` of
`captures` are filled in by the committer, who learns them from the archive."""


class Facts(Protocol):
    def append(self, number: int, rows: Rows) -> None:
        """Write one frame for commit `number` to the tail. Not durable until `sync`. Raises OSError like the
        archive."""

    def sync(self) -> None:
        """Everything appended is on disk, new files' directory entries included."""

    def lengths(self) -> dict[str, int]:
        """The tails that hold rows not yet in Parquet, by relative name (`facts/tail-3`), with their lengths."""

    def parquet(self) -> list[str]:
        """The Parquet files that stand for earlier tails, by relative name."""

    def digests(self) -> dict[str, str]:
        """`sha256:` and 64 hexadecimal digits, of the Parquet files that were written since the last `cut`; others are
        not known here."""

    def rotate(self) -> bool:
        """Bring the facts closer to Parquet if the tail is long: called between commits, and what it changes is
        listed by the next commit. A tail that was replaced is unlinked one rotation later, so that who reads by the
        last published commit still finds it. True when something changed."""

    def finish(self) -> bool:
        """Bring all rows into Parquet, and wait for it. True when one more commit must list the result. Call it until
        it says False: what was replaced is gone by then."""

    def cut(self, number: int, lengths: dict[str, int], parquet: list[str]) -> None:
        """Go back to exactly these files and lengths. A surplus is cut; one that holds a frame later than `number` +
        1, a listed file that is missing or too short: FactsDamaged. Comes first of all calls, with 0 and nothing in a
        directory without a crawl."""

    def close(self) -> None:
        """Let go of files, and give up what is under way. Syncs nothing. May be called again; `cut` makes the facts
        usable once more."""


class FactsDamaged(Damaged):
    """The facts are not what the last commit says; the message names the file and what is wrong."""
