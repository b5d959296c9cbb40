"""The snapshot of what is committed now."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

from whimbrel.commit.committed import IMPORT_LIST, Committed, read_committed
from whimbrel.facts.api import FactsDamaged
from whimbrel.query.snapshot import Snapshot, SnapshotGone

_ATTEMPTS: Final = 10


def latest_snapshot(directory: Path, read: Callable[[Path], Committed] = read_committed) -> Snapshot:
    """Read and hold the last commit of a crawl, which may go on meanwhile: what `read` says each time it is called.

    Raises NotACrawl, or FactsDamaged when a file is missing although the commit that lists it is still the last.
    """
    before = -1
    for _ in range(_ATTEMPTS):
        committed = read(directory)
        recaptured = committed.counters.recaptured > 0 or (directory / IMPORT_LIST).exists()
        snapshot = Snapshot(directory, committed.files, committed.parquet, recaptured=recaptured)
        try:
            snapshot.hold()
        except SnapshotGone as gone:
            if committed.number == before:
                raise FactsDamaged(f"commit {before} lists a file that is missing: {gone}") from gone
            before = committed.number
        else:
            return snapshot
    raise FactsDamaged(f"{directory}: files vanish faster than they can be read")
