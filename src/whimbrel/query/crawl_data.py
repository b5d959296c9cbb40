"""Crawls opened from Python: `whimbrel.open(DIR)`."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from whimbrel.archive.head import head_fields
from whimbrel.query.document import Document, decoded_body
from whimbrel.query.open_snapshot import latest_snapshot
from whimbrel.query.rows import Rows
from whimbrel.query.snapshot import Snapshot
from whimbrel.query.sql import Query, QueryConfig
from whimbrel.query.table_rows import literal

if TYPE_CHECKING:
    import pyarrow as pa

_NO_LIMIT_S: Final = 1e8


class CrawlData:
    """One crawl or several, running or not. Every question is answered from what is committed when it is asked.

    With several, every table has a column `crawl` with the name of the directory.
    """

    def __init__(self, directories: Sequence[Path], config: QueryConfig | None = None) -> None:
        self._directories = directories
        self._config = QueryConfig() if config is None else config

    def check(self) -> None:
        """NotACrawl when a directory holds none."""
        self._snapshots()

    def sql(self, question: str) -> Rows:
        """The answer to one SELECT, in memory. Raises QueryRefused or QueryFailed."""
        import pyarrow as pa

        with Query(self._snapshots(), self._config) as query, query.run(question) as answer:
            return Rows(pa.Table.from_batches(answer, answer.schema))

    def stream(self, question: str) -> "Iterator[pa.RecordBatch]":
        """The answer batch by batch: it may be larger than memory."""
        with Query(self._snapshots(), self._config) as query, query.run(question) as answer:
            yield from answer

    def documents(self, where: str = "true") -> Iterator[Document]:
        """Pages with their bodies, in the order of the archive and in constant memory. `where` is a condition on
        `pages`. Duplicates, which have no body of their own, are left out."""
        kept = f"({where}) AND duplicate_of = '' AND warc_file <> ''"
        yield from self._read("_pages", f"{kept} ORDER BY _crawl, warc_file, warc_offset")

    def get(self, url: str) -> Document | None:
        """The last document of a URL; None when there is none. A duplicate has the body of the page it repeats."""
        latest = f"url = {literal(url)} AND warc_file <> '' ORDER BY fetched_at DESC LIMIT 1"
        found = next(self._read("_pages", latest), None)
        if found is None or not found.row["duplicate_of"]:
            return found
        original = f"capture_id = {found.row['duplicate_of_id']} AND duplicate_of = '' LIMIT 1"
        whole = next(self._read("_contents", original), None)
        return found if whole is None else msgspec.structs.replace(found, body=whole.body)

    def _read(self, view: str, rest: str) -> Iterator[Document]:
        crawls = self._snapshots()
        config = msgspec.structs.replace(self._config, time_limit_s=_NO_LIMIT_S)
        question = f"SELECT * EXCLUDE (text) FROM {view} WHERE {rest}"  # noqa: S608 - only a SELECT is answered
        with Query(crawls, config) as query, query.run(question) as answer:
            for batch in answer:
                for row in batch.to_pylist():
                    yield _document(crawls[row.pop("_crawl")], row)

    def _snapshots(self) -> list[Snapshot]:
        return [latest_snapshot(directory) for directory in self._directories]


def _document(crawl: Snapshot, row: dict[str, Any]) -> Document:
    stored = crawl.stored(row["warc_file"], row["warc_offset"], row["warc_length"])
    headers = head_fields(stored.http_head)
    return Document(row["url"], row["status"], headers, decoded_body(stored), row, stored.http_head)
