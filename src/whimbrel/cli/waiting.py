"""What a crawl that ended with work left waits for, by kind and by time."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

_KINDS: Final = {
    "new": "have not been asked for robots.txt yet",
    "qualified": "wait for their turn, for a second try, or for a limit of this crawl",
    "disqualified": "are disqualified for now: robots.txt or their address could not be had",
    "parked": "are parked: they did not answer several times in a row",
    "given-up": "were given up",
}


def waiting(directory: Path) -> list[str]:
    """One line for each kind of wait. Without DuckDB, which would be the largest thing that a small crawl loads."""
    import pyarrow.compute as pc

    from whimbrel.query.latest import latest_snapshot

    hosts = latest_snapshot(directory).tables()["hosts"]
    wants = [("host", "count"), ("queued", "sum"), ("until", "min"), ("last_error", "max")]
    found = hosts.filter(pc.field("queued") > 0).group_by("qualification").aggregate(wants)
    return [_line(row) for row in found.sort_by([("queued_sum", "descending")]).to_pylist()]


def _line(row: dict[str, Any]) -> str:
    kind, until, said = row["qualification"], row["until_min"], row["last_error_max"]
    text = f"{row['host_count']:,} hosts with {row['queued_sum']:,} URLs {_KINDS.get(kind, kind)}"
    if kind == "disqualified" and until is not None and until > datetime.now(UTC):
        text += f"; the first is tried again at {until:%Y-%m-%d %H:%M} UTC"
    return f"{text} (for example: {said})" if said else text
