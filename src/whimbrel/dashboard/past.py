"""The history of a crawl that does not run, from its table of visits."""

from collections.abc import Mapping
from typing import Any, Final

from whimbrel.control.history import Sample

_SAMPLES: Final = 300
_NAMED: Final = ("stored", "duplicate", "redirected", "failed")
_CLASSES: Final = {"ok": 2, "moved": 3, "client_errors": 4, "server_errors": 5}
PAST_SQL: Final = f"""
    with visit as (select epoch(started_at) as at_s, * from fetches where attempt > 0 and started_at is not null),
    span as (
        select min(at_s) as first_s, greatest(1.0, ceil((max(at_s) - min(at_s)) / {_SAMPLES})) as step_s from visit)
    select cast(floor((at_s - first_s) / step_s) + 1 as bigint) * any_value(step_s) as at_s, count(*) as visited,
        sum(bytes) as bytes, {", ".join(f"count(*) filter (outcome = '{name}') as {name}" for name in _NAMED)},
        {", ".join(f"count(*) filter (status // 100 = {one}) as {name}" for name, one in _CLASSES.items())},
        coalesce(quantile_cont(elapsed_ms, 0.5) filter (status > 0), 0) as p50_ms,
        coalesce(quantile_cont(elapsed_ms, 0.95) filter (status > 0), 0) as p95_ms
    from visit, span group by floor((at_s - first_s) / step_s), first_s order by 1"""  # noqa: S608 - nothing is filled in
"""A row for each step in which a visit was made, at most about 300."""


def past_samples(rows: list[dict[str, Any]]) -> list[Sample]:
    """Totals over the time since the first visit. How many URLs were queued is not in the table."""
    found = [_sample(0.0, {}, {})]
    totals: dict[str, int] = {}
    for row in rows:
        totals = {name: totals.get(name, 0) + int(row[name] or 0) for name in ("visited", "bytes", *_NAMED, *_CLASSES)}
        found.append(_sample(float(row["at_s"]), totals, row))
    return found if rows else []


def _sample(at_s: float, totals: Mapping[str, int], row: Mapping[str, Any]) -> Sample:
    counts = {name: totals.get(name, 0) for name in ("visited", "bytes", *_NAMED, *_CLASSES)}
    return Sample(
        at_s=at_s,
        queued=0,
        visiting=0,
        hosts=0,
        other=counts["visited"] - sum(counts[name] for name in _NAMED),
        p50_ms=float(row.get("p50_ms", 0.0)),
        p95_ms=float(row.get("p95_ms", 0.0)),
        **counts,
    )
