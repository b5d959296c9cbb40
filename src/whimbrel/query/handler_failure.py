"""What handlers and filters failed with since a moment."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Final

_MOST: Final = 5
"""Different failures that are told, the most frequent first."""
_FAILED: Final = "outcome <> 'ok' and handled.at >= '{since}'"


def failures_sql(since_s: float) -> str:
    """The query that shows all of them with their tracebacks."""
    return f"select url, outcome, error from handled where {_since(since_s)}"  # noqa: S608


def handler_failures(directory: Path, since_s: float) -> dict[str, int]:
    """The last line of the traceback, and the number of pages that it is of; that of a filter begins with `filter` and
    its name. Raises Damaged when tables are not what the last commit says."""
    from whimbrel.query.open_snapshot import latest_snapshot
    from whimbrel.query.sql import Query, QueryConfig

    sql = f"""
        select split_part(error, chr(10), 1) as said, count(*) as pages from handled
        where {_since(since_s)} group by 1 order by 2 desc, 1 limit {_MOST}"""  # noqa: S608
    with Query([latest_snapshot(directory)], QueryConfig()) as query, query.run(sql) as answer:
        return {row["said"]: row["pages"] for batch in answer for row in batch.to_pylist()}


def _since(since_s: float) -> str:
    since = datetime.fromtimestamp(since_s, UTC).replace(tzinfo=None)
    return _FAILED.format(since=f"{since.isoformat(' ', 'milliseconds')}Z")
