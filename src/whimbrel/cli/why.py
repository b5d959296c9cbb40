"""`whimbrel why`: the whole story of one URL."""

from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer
from rich.console import Console

from whimbrel.cli.display import json_text, plain_console, printable
from whimbrel.commit.committed import read_committed
from whimbrel.flow import check
from whimbrel.frontier.router import Router, RouterConfig
from whimbrel.job.configure import configured
from whimbrel.job.parts import registry
from whimbrel.job.stored import stored_job
from whimbrel.parse.api import Link, Links, Page
from whimbrel.url import Url, parse
from whimbrel.visit import Visit

Rows = list[dict[str, Any]]
_AT = r"regexp_replace(url, '^https?://([^/:]*)(:[0-9]+)?', '\1')"
"""A URL without scheme and port, in SQL."""


def why(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="The crawl's directory.")],
    url: Annotated[str, typer.Argument(metavar="URL", help="Any URL; without a scheme, https.")],
    json_: Annotated[bool, typer.Option("--json", help="Print it as JSON.")] = False,
) -> None:
    """Tell what became of a URL, and why: who links to it, each visit, its outcome, its place in the archive.

    Exit codes: 0 told, also when the crawl does not know the URL; 2 there is no crawl, or it is no URL.
    """
    found = parse(url if "://" in url else f"https://{url}")
    if found is None:
        raise typer.BadParameter(f"{url!r} is not an http or https URL")
    read_committed(directory)
    story = _story(directory, found)
    if json_:
        typer.echo(json_text(story))
    else:
        _print(plain_console(), found, story)


def _story(directory: Path, url: Url) -> dict[str, Any]:
    from whimbrel.query.latest import latest_snapshot
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
            "page": rows(f"select * exclude (text) from pages where url = '{text}'"),  # noqa: S608
            "linked_from": rows(
                f"select source, anchor, kind, count(*) over () as total from links where target = '{text}' limit 5"  # noqa: S608
            ),
            "host": rows(f"select * from hosts where host = '{site}'"),  # noqa: S608
            "similar": rows(f"select distinct url from fetches where {_AT} = '{name}' and url <> '{text}' limit 5"),  # noqa: S608
            **_verdict(directory, url),
        }


def _verdict(directory: Path, url: Url) -> dict[str, Any]:
    """Whether it is a seed, and what the job's scope, filters and limits say about a link to it; empty when it would be
    followed."""
    options = stored_job(directory).options
    known = registry(*map(Path, options.with_files))
    plan = check(configured(options, directory, known), known)
    settings = next(spec.config for spec in plan.wiring.providers if spec.name == "router")
    router = Router(msgspec.convert(dict(settings), RouterConfig))
    seed = router.seeds[0]
    visit = Visit(seed, 0, "", 0, 1, "", b"")
    route = router.route(visit, Page(mime="text/html", links=Links.of([Link(url.text)])))
    is_seed = any(url.text == seed.text for seed in router.seeds)
    refusal = route.dropped[0][1] if route.dropped else next(iter(route.refused), "")
    return {"seed": is_seed, "verdict": "" if is_seed else refusal}


def _print(console: Console, url: Url, story: dict[str, Any]) -> None:
    def say(line: str) -> None:
        console.print(printable(line), highlight=False, markup=False)

    for visit in story["visits"]:
        status = f", status {visit['status']}" if visit["status"] else ""
        source = f", found on {visit['discovered_from']}" if visit["discovered_from"] else ""
        ended = f"{visit['outcome']} ({visit['reason']}{status})"
        say(f"{_when(visit['started_at'])}  {ended}, try {visit['attempt']}{source}")
    for page in story["page"]:
        same = f", the same as {page['duplicate_of']}" if page["duplicate_of"] else ""
        say(f"kept in {page['warc_file']} at {page['warc_offset']:,} ({page['warc_length']:,} bytes){same}")
    for link in story["linked_from"]:
        say(f"linked from {link['source']} as {link['anchor']!r} ({link['kind']})")
    if story["linked_from"] and story["linked_from"][0]["total"] > len(story["linked_from"]):
        say(f"… and {story['linked_from'][0]['total'] - len(story['linked_from']):,} more links")
    for host in story["host"]:
        said = f": {host['last_error']}" if host["last_error"] else ""
        say(f"its host is {host['qualification']}, {host['queued']:,} URLs queued there{said}")
    if not story["visits"]:
        say(_unvisited(url, story))


def _unvisited(url: Url, story: dict[str, Any]) -> str:
    if story["verdict"]:
        return f"{url} is not visited: a link to it is refused ({story['verdict']})."
    if story["linked_from"] or story["seed"]:
        return f"{url} is queued or on its way: links to it are followed, and no visit is committed yet."
    if story["similar"]:
        others = ", ".join(row["url"] for row in story["similar"])
        return f"{url} is not known. The crawl knows {others}."
    return f"{url} is not known: nothing that was fetched links to it. The job's scope and filters would allow it."


def _when(at: Any) -> str:
    return f"{at:%Y-%m-%d %H:%M:%S}" if at is not None else "at no time"
