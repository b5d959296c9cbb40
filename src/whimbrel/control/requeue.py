"""URLs of a crawl that ended without a page, from its committed tables."""

from pathlib import Path

import msgspec

from whimbrel.commit.committed import NotACrawl
from whimbrel.control.api import Requeue
from whimbrel.effect.seeding import Requeued
from whimbrel.job.options import OptionError, ResolvedOptions
from whimbrel.job.stored import stored_job
from whimbrel.query.open_snapshot import latest_snapshot
from whimbrel.query.sql import Query, QueryConfig
from whimbrel.url import parse
from whimbrel.visit import Discovered


class Failed(msgspec.Struct, frozen=True, gc=False):
    url: str
    reason: str
    source: str
    depth: int


def failures(directory: Path, wanted: Requeue) -> list[Failed]:
    """Those whose last word is this outcome. A URL that was requeued before has another last word."""
    conditions = [f"outcome = '{_quoted(wanted.outcome)}'"]
    if wanted.reason:
        conditions.append(f"reason = '{_quoted(wanted.reason)}'")
    if wanted.host:
        conditions.append(_of_host(wanted.host))
    where = " and ".join(conditions)
    # Every text in it is quoted, and only SELECT can be run.
    sql = f"""
        with wanted as (select distinct url from fetches where {where}),
        last as (
            select f.url, arg_max({{'outcome': outcome, 'reason': reason, 'source': discovered_from}},
                                  (started_at, outcome <> 'retry')) as final
            from fetches f semi join wanted w on w.url = f.url group by f.url),
        chosen as (
            select url, reason, source
            from (select url, unnest(final) from last)
            where {where}
            limit {wanted.most})
        select c.url, c.reason, c.source, coalesce(p.depth + 1, least(1, length(c.source))) as depth
        from chosen c left join pages p on p.url = c.source"""  # noqa: S608
    with Query([latest_snapshot(directory)], QueryConfig()) as asked, asked.run(sql) as answer:
        return [Failed(*row.values()) for batch in answer for row in batch.to_pylist()]


def refused_as_private(directory: Path, given: ResolvedOptions) -> list[Requeued]:
    """URLs that were not visited because their address is private, if other addresses are allowed now than before."""
    try:
        kept = stored_job(directory).options
        now = given.options
        if (kept.allow_network, kept.allow_host) == (now.allow_network, now.allow_host):
            return []
        found = failures(directory, Requeue(reason="private-address"))
    except (OptionError, NotACrawl):
        return []  # Who goes on with it says what is wrong.
    urls = ((parse(one.url), one) for one in found)
    return [
        Requeued(Discovered(url, one.depth, one.source), "failed", one.reason) for url, one in urls if url is not None
    ]


def _of_host(host: str) -> str:
    """A host by its name, or one site."""
    site = parse(host) if "://" in host else None
    if site is None:
        return f"host(url) = '{_quoted(host)}'"
    root = site.text.removesuffix("/")
    return f"(url = '{_quoted(root)}' or starts_with(url, '{_quoted(root)}/'))"


def _quoted(text: str) -> str:
    return text.replace("'", "''")
