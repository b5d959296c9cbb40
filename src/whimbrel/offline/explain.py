"""The whole story of one URL: each visit, its page, who links to it, its host, and what the job says about it."""

from pathlib import Path
from typing import Any

import msgspec

from whimbrel.commit.committed import IMPORT_LIST
from whimbrel.flow import check
from whimbrel.job.crawl_wiring import configured
from whimbrel.job.part_name import ROUTER
from whimbrel.job.parts import registry
from whimbrel.job.stored import stored_job
from whimbrel.parse.api import Links, PageLink, ParsedPage
from whimbrel.route.router import Router, RouterConfig
from whimbrel.url import Url
from whimbrel.visit import Request, Visit

Rows = list[dict[str, Any]]
_AT = r"regexp_replace(url, '^https?://([^/:]*)(:[0-9]+)?', '\1')"
"""A URL without scheme and port, in SQL."""


def story_of(directory: Path, url: Url) -> dict[str, Any]:
    """As far as it is committed."""
    from whimbrel.query.open_snapshot import latest_snapshot
    from whimbrel.query.sql import Query, QueryConfig

    text = url.text.replace("'", "''")
    site = url.site.replace("'", "''")
    name = f"{url.host}{url.target}".replace("'", "''")
    with Query([latest_snapshot(directory)], QueryConfig()) as asked:

        def rows(sql: str) -> Rows:
            with asked.run(sql) as answer:
                return [row for batch in answer for row in batch.to_pylist()]

        return {
            "url": url.text,
            "visits": rows(f"select * from fetches where url = '{text}' order by started_at"),  # noqa: S608
            "captures": rows(f"select * exclude (text) from captures where url = '{text}' order by fetched_at"),  # noqa: S608
            "page": rows(f"select * exclude (text) from pages where url = '{text}'"),  # noqa: S608
            "linked_from": rows(
                f"select source, anchor, kind, count(*) over () as total from links where target = '{text}' limit 5"  # noqa: S608
            ),
            "host": rows(f"select * from hosts where site = '{site}'"),  # noqa: S608
            "similar": rows(f"select distinct url from fetches where {_AT} = '{name}' and url <> '{text}' limit 5"),  # noqa: S608
            **_verdict(directory, url),
        }


def _verdict(directory: Path, url: Url) -> dict[str, Any]:
    """Whether it is a seed, and what the job's scope, filters and limits say about a link to it; empty when it would be
    followed. What was imported has no job, and follows nothing."""
    if (directory / IMPORT_LIST).exists():
        return {"seed": False, "verdict": "not-imported"}
    options = stored_job(directory).options
    known = registry(*map(Path, options.with_files))
    plan = check(configured(options, directory, known), known)
    settings = next(spec.config for spec in plan.wiring.providers if spec.name == ROUTER)
    router = Router(msgspec.convert(dict(settings), RouterConfig))
    seed = router.seeds[0]
    visit = Visit(Request(seed), 0, "", 0, 1, "", b"")
    route = router.route(visit, ParsedPage(mime="text/html", links=Links.of([PageLink(url.text)])))
    is_seed = any(url.text == seed.text for seed in router.seeds)
    refusal = route.dropped[0].reason if route.dropped else next(iter(route.refused), "")
    return {"seed": is_seed, "verdict": "" if is_seed else refusal}


def unvisited(url: Url, story: dict[str, Any]) -> str:
    """Why there is no visit, in a sentence."""
    if story["verdict"]:
        return f"{url} is not visited: a link to it is refused ({story['verdict']})."
    if story["linked_from"] or story["seed"]:
        return f"{url} is queued or on its way: links to it are followed, and no visit is committed yet."
    if story["similar"]:
        others = ", ".join(row["url"] for row in story["similar"])
        return f"{url} is not known. The crawl knows {others}."
    return f"{url} is not known: nothing that was fetched links to it. The job's scope and filters would allow it."
