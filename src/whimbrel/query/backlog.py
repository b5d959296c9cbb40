"""What a crawl that ended with work left waits for, by kind and by time."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from whimbrel.facts.api import FactsDamaged
from whimbrel.terminal import counted
from whimbrel.url import parse
from whimbrel.url.block_list import BlockList, is_pattern

if TYPE_CHECKING:
    from whimbrel.query.snapshot import Snapshot

_COLUMNS: Final = ["site", "qualification", "queued", "until", "last_error"]
_OLD_COLUMNS: Final = ["host", *_COLUMNS[1:]]
"""Of files of format 1, where a site stands in the column `host`."""
_MOST_HOSTS: Final = 200_000
"""The newest; more would only make the numbers larger."""
BLOCKED: Final = "blocked"
_KINDS: Final = {
    "new": "not asked for robots.txt yet",
    "qualified": "waiting for their turn, for a second try, or for a limit of this crawl",
    "disqualified": "disqualified for now, as robots.txt or an address could not be had",
    "parked": "parked, as they did not answer several times in a row",
    "given-up": "given up",
}


def backlog(directory: Path, block: Sequence[str] = ()) -> list[str]:
    """One line for each kind of wait; `block` is what the user blocks. Without DuckDB, which would be the largest thing
    that a small crawl loads; and in little memory, since it is asked at the end of every crawl."""
    from whimbrel.query.open_snapshot import latest_snapshot

    blocked = BlockList(name for name in block if not is_pattern(name))
    found: dict[str, _Kind] = {}
    seen: set[str] = set()
    for site, qualification, queued, until, said in _newest_first(latest_snapshot(directory)):
        if site in seen:
            continue
        seen.add(site)
        if queued:
            kind = BLOCKED if qualification != "given-up" and _holds(blocked, site) else qualification
            found.setdefault(kind, _Kind(kind)).add(queued, until, "" if kind == BLOCKED else said)
        if len(seen) >= _MOST_HOSTS:
            break
    if BLOCKED in found:
        hosts = [name for name in block if not is_pattern(name)]
        found[BLOCKED].note = _names(hosts) + f"; to visit them: whimbrel control {directory} unblock {' '.join(hosts)}"
    return [kind.line() for kind in sorted(found.values(), key=lambda kind: -kind.urls)]


def _holds(blocked: BlockList, site: str) -> bool:
    url = parse(site) if blocked else None
    return url is not None and blocked.holds(url)


def _names(hosts: Sequence[str]) -> str:
    return f" ({', '.join(hosts[:5])}{', …' if len(hosts) > 5 else ''})"


def _newest_first(snapshot: "Snapshot") -> Iterator[tuple[Any, ...]]:
    """Rows of hosts, the last one of each before its others."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    for batch in reversed(snapshot.tails["hosts"].select(_COLUMNS).to_batches()):
        yield from reversed(list(zip(*(column.to_pylist() for column in batch.columns), strict=True)))
    files = [(path, _OLD_COLUMNS) for path in snapshot.old_parquet["hosts"]]
    files += [(path, _COLUMNS) for path in snapshot.parquet["hosts"]]
    for path, columns in reversed(files):
        try:
            with pq.ParquetFile(path) as file:
                for group in range(file.num_row_groups - 1, -1, -1):
                    rows = file.read_row_group(group, columns, use_threads=False).select(columns)
                    yield from reversed(list(zip(*(column.to_pylist() for column in rows.columns), strict=True)))
        except (pa.ArrowException, OSError, KeyError) as error:  # KeyError: a column is not there
            raise FactsDamaged(f"{path.name}: {error}") from error


class _Kind:
    """Hosts that wait for the same."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.hosts = self.urls = 0
        self.until: datetime | None = None
        self.said = self.note = ""

    def add(self, queued: int, until: datetime | None, said: str) -> None:
        self.hosts += 1
        self.urls += queued
        self.said = max(self.said, said or "")
        if until is not None and (self.until is None or until < self.until):
            self.until = until

    def line(self) -> str:
        what = _KINDS.get(self.name, self.name)
        text = f"{counted(self.hosts, 'host')} with {counted(self.urls, 'URL')}: {what}{self.note}"
        if self.name == "disqualified" and self.until is not None and self.until > datetime.now(UTC):
            text += f"; the first is tried again at {self.until:%Y-%m-%d %H:%M} UTC"
        if self.said:
            text += f" (for example: {self.said})"
        return text + "; check the names, the network, and --resolver" if "no address" in self.said else text
