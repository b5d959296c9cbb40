"""A crawl compared with the truth, URL by URL."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from whimbrel.query.open_snapshot import latest_snapshot
from whimbrel.query.sql import Query, QueryConfig
from whimbrel.simweb.truth import Truth, TruthLimits, TruthOptions
from whimbrel.simweb.web import Web

_KEPT: Final = ("stored", "duplicate")
NO_HOP_LIMIT: Final = TruthOptions(limits=TruthLimits(hops=None))
"""Hops depend on the order of a crawl (ADR 5), so comparisons lift their limit on both sides."""


def differences(directory: Path, web: Web, seeds: Sequence[str], options: TruthOptions = NO_HOP_LIMIT) -> list[str]:
    """What differs between a crawl's final outcomes and the truth, one line per URL.

    Of equal payloads exactly one is stored, whichever was met first; the truth names one, a crawl may meet another.
    """
    found = final_outcomes(directory)
    wrong = [f"{count} final outcomes: {url}" for url, count in found.counts.items() if count > 1]
    truth = {row.url: row for row in Truth(web, list(seeds), options).rows()}
    stored: Counter[str] = Counter()
    for url, row in truth.items():
        got = found.outcomes.get(url)
        if got is None:
            wrong.append(f"not visited: {url} (truth: {row.outcome} {row.reason})")
        elif row.payload and row.outcome in _KEPT and got[0] in _KEPT:
            stored[row.payload] += got[0] == "stored"
        elif got != (row.outcome, row.reason):
            wrong.append(f"{url}: {got[0]} ({got[1]}), truth: {row.outcome} ({row.reason})")
    wrong += [f"stored {count} times: payload {payload}" for payload, count in stored.items() if count != 1]
    return wrong + [f"not of this web: {url} {found.outcomes[url]}" for url in found.outcomes.keys() - truth.keys()]


class FinalOutcomes:
    def __init__(self) -> None:
        self.outcomes: dict[str, tuple[str, str]] = {}
        self.counts: Counter[str] = Counter()


def final_outcomes(directory: Path) -> FinalOutcomes:
    """Outcome and reason of each URL of a crawl, and how often it has a final one."""
    found = FinalOutcomes()
    sql = "select url, outcome, reason from fetches where outcome <> 'retry'"
    with Query([latest_snapshot(directory)], QueryConfig()) as asked, asked.run(sql) as answer:
        for batch in answer:
            for row in batch.to_pylist():
                found.outcomes[row["url"]] = (row["outcome"], row["reason"])
                found.counts[row["url"]] += 1
    return found
