"""What a crawl that ended with work left waits for, by kind and by time."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

_KINDS: Final = {
    "new": "not asked for robots.txt yet",
    "qualified": "waiting for their turn, for a second try, or for a limit of this crawl",
    "disqualified": "disqualified for now, as robots.txt or an address could not be had",
    "parked": "parked, as they did not answer several times in a row",
    "given-up": "given up",
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
    hosts, urls = _counted(row["host_count"], "host"), _counted(row["queued_sum"], "URL")
    what = _KINDS.get(kind, kind)
    text = f"{hosts} with {urls}: {what}"
    if kind == "disqualified" and until is not None and until > datetime.now(UTC):
        text += f"; the first is tried again at {until:%Y-%m-%d %H:%M} UTC"
    if said:
        text += f" (for example: {said})"
    return text + "; check the names, the network, and --resolver" if "no address" in (said or "") else text


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
