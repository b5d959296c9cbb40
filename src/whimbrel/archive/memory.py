"""An archive in memory, written out as JSON lines at the end. It keeps no bodies, and grows with the crawl."""

from collections import Counter
from pathlib import Path

import msgspec

from whimbrel.archive.api import Record, Tally
from whimbrel.flow import Config, Provider
from whimbrel.parse.api import Visited


class ArchiveConfig(Config, frozen=True):
    directory: str = ""
    """Where `outcomes.jsonl` is written; empty is nowhere."""


class MemoryArchive(Provider):
    Config = ArchiveConfig

    def __init__(self, config: ArchiveConfig) -> None:
        super().__init__(config)
        self._records: list[Record] = []
        self._outcomes: Counter[str] = Counter()
        self._reasons: Counter[str] = Counter()
        self._bytes = 0

    def tally(self) -> Tally:
        return Tally(
            visited=len(self._records),
            bytes=self._bytes,
            outcomes=dict(self._outcomes),
            reasons=dict(self._reasons),
        )

    def keep(self, visited: Visited) -> None:
        fetched = visited.fetched
        visit, response = fetched.visit, fetched.response
        size = len(response.body) if response is not None else 0
        self._outcomes[visited.outcome] += 1
        self._reasons[f"{visited.outcome} {visited.reason}"] += 1
        self._bytes += size
        self._records.append(
            Record(
                url=visit.url.text,
                outcome=visited.outcome,
                reason=visited.reason,
                status=response.status if response is not None else 0,
                depth=visit.depth,
                bytes=size,
                title=visited.title,
                links=visited.links,
                address=response.address if response is not None else "",
                discovered_from=visit.source,
                started_at=round(fetched.started_s, 6),
                elapsed_ms=round(fetched.elapsed_s * 1000, 3),
            )
        )

    async def close(self) -> None:
        if self.config.directory:
            path = Path(self.config.directory) / "outcomes.jsonl"
            path.write_bytes(b"".join(msgspec.json.encode(record) + b"\n" for record in self._records))
