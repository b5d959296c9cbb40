"""Records that an import has kept and that made no rows, found in the indexes of the archive."""

import json
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from whimbrel.archive.cdxj import index_path
from whimbrel.commit.committed import Committed
from whimbrel.url import parse


def urls_with_records(directory: Path, committed: Committed, wanted: Collection[str]) -> set[str]:
    """Those of some URLs that a record of the archive is of. A segment without an index is passed over."""
    found: set[str] = set()
    if not committed.counters.unvisited or not wanted:
        return found
    for name in committed.archive():
        with suppress(FileNotFoundError), index_path(directory / name).open(encoding="utf-8") as lines:
            for line in lines:
                url = parse(json.loads(line[line.index("{") :])["url"])
                if url is not None and url.text in wanted:
                    found.add(url.text)
    return found
