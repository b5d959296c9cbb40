"""The whole story of one URL: each visit, its page, who links to it, its host, and what the job says about it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from whimbrel.commit.committed import IMPORT_LIST, read_committed
from whimbrel.error import WhimbrelError
from whimbrel.job.options import JOB_FILE
from whimbrel.offline.link_judge import LinkJudge, Refusal
from whimbrel.offline.robots_rule import robots_rule
from whimbrel.offline.unvisited import Case, explain_retry, explain_unvisited
from whimbrel.parse.api import PageLink
from whimbrel.url import Url, restore

Rows = list[dict[str, Any]]
Ask = Callable[[str], Rows]
_AT = r"regexp_replace(url, '^https?://([^/:]*)(:[0-9]+)?', '\1')"
"""A URL without scheme and port, in SQL."""
_LEADS = """
    with recursive lead(url) as (
        select redirect_to from fetches where outcome = 'redirected' and redirect_to <> '' and discovered_from = ''
        union
        select f.redirect_to from fetches f join lead on f.url = lead.url
        where f.outcome = 'redirected' and f.redirect_to <> '')
    select url from lead limit 1000"""
"""Where seeds redirect to, in any number of steps."""


def story_of(directory: Path, url: Url) -> dict[str, Any]:
    """As far as it is committed. `explanation` has the sentences that say why."""
    from whimbrel.query.open_snapshot import latest_snapshot
    from whimbrel.query.sql import Query, QueryConfig

    with Query([latest_snapshot(directory)], QueryConfig()) as asked:

        def rows(sql: str) -> Rows:
            with asked.run(sql) as answer:
                return [row for batch in answer for row in batch.to_pylist()]

        story = _facts(url, rows)
        judge, trouble = _judge(directory)
        if judge is not None:
            judge.extend(row["url"] for row in rows(_LEADS))
        links = [] if judge is None else _judged(url, judge, _link_kinds(url, rows), story["redirected_from"])
        story["seed"] = judge is not None and any(url.text == seed.text for seed in judge.seeds)
        unlinked = Refusal()
        if judge is not None:
            unlinked = judge.judge(url, PageLink(url.text), judge.seeds[0] if judge.seeds else url, 0)
        story["verdict"] = unlinked.reason
        case = Case(url, directory, read_committed(directory), story, judge, trouble, links, unlinked)
        story["explanation"] = _explanation(case, rows)
        return story


def _facts(url: Url, rows: Ask) -> dict[str, Any]:
    text, site = _quoted(url.text), _quoted(url.site)
    name = _quoted(f"{url.host}{url.target}")
    return {
        "url": url.text,
        "visits": rows(f"select * from fetches where url = {text} order by started_at"),  # noqa: S608
        "captures": rows(f"select * exclude (text) from captures where url = {text} order by fetched_at"),  # noqa: S608
        "page": rows(f"select * exclude (text) from pages where url = {text}"),  # noqa: S608
        "linked_from": rows(
            f"select source, anchor, kind, count(*) over () as total from links where target = {text} limit 5"  # noqa: S608
        ),
        "redirected_from": rows(
            f"select distinct url from fetches where redirect_to = {text} and outcome = 'redirected' limit 5"  # noqa: S608
        ),
        "host": rows(f"select * from hosts where site = {site}"),  # noqa: S608
        "similar": rows(f"select distinct url from fetches where {_AT} = {name} and url <> {text} limit 5"),  # noqa: S608
        "pages_read_in_part": rows("select count(*) as n from pages where truncated <> ''")[0]["n"],
    }


def _link_kinds(url: Url, rows: Ask) -> Rows:
    """The links to a URL, those that are judged alike together, with the page that is nearest to a seed."""
    return rows(
        "select l.kind, l.rel, p.robots_meta, arg_min(l.source, p.depth) as source, min(p.depth) as depth "  # noqa: S608
        f"from links l join pages p on p.url = l.source where l.target = {_quoted(url.text)} group by all limit 100"
    )


def _quoted(text: str) -> str:
    doubled = text.replace("'", "''")
    return f"'{doubled}'"


def _judge(directory: Path) -> tuple[LinkJudge | None, str]:
    """The job of a crawl; None for an import, which has none, or for a job that cannot be used, with the reason."""
    if (directory / IMPORT_LIST).exists() and not (directory / JOB_FILE).exists():
        return None, ""
    try:
        return LinkJudge(directory), ""
    except (WhimbrelError, ValueError) as error:
        return None, str(error)


def _judged(url: Url, judge: LinkJudge, kinds: Rows, redirects: Rows) -> list[Refusal]:
    """For each kind of link to a URL, and for each redirect, why it is not followed."""
    found = [
        judge.judge(
            url,
            PageLink(url.text, rel=row["rel"], kind=row["kind"]),
            restore(row["source"]),
            row["depth"],
            tuple(row["robots_meta"].split(",")),
        )
        for row in kinds
    ]
    return found + [judge.judge_redirect(url, restore(row["url"])) for row in redirects]


def _explanation(case: Case, rows: Ask) -> list[str]:
    visits = case.story["visits"]
    if not visits:
        return explain_unvisited(case)
    if case.trouble:
        return [f"The job cannot be used, so what it says is not known: {case.trouble}"]
    last = visits[-1]
    match last["outcome"]:
        case "redirected":
            return [_of_redirect(case, last["redirect_to"], rows)]
        case "denied":
            return _of_denial(case, last["reason"])
        case "dropped":
            limit = "" if case.judge is None else case.judge.limit(last["reason"])
            return [f"It was never asked for: it is beyond {limit}."] if limit else []
        case "retry":
            return [explain_retry(case)]
        case "failed" if not last["ip"]:
            return _of_host(case)
        case _:
            return []


def _of_redirect(case: Case, target: str, rows: Ask) -> str:
    if not target:
        return "It redirects to no http or https URL, so nothing is followed."
    said = f"It redirects to {target}"
    ends = rows(f"select outcome, reason from fetches where url = {_quoted(target)} order by started_at desc limit 1")  # noqa: S608
    if ends:
        return f"{said}, which ended as {ends[0]['outcome']} ({ends[0]['reason']})."
    refusal = Refusal() if case.judge is None else case.judge.judge_redirect(restore(target), case.url)
    if refusal:
        return f"{said}, which is not followed ({refusal.reason}): {refusal.detail}."
    return f"{said}, which has no visit."


def _of_denial(case: Case, reason: str) -> list[str]:
    judge, host = case.judge, case.host
    if judge is None:
        return []
    if reason == "robots" and host is not None:
        return [robots_rule(case.directory, case.url, host["slot"], judge.agent)]
    if reason == "robots-unreachable" and host is not None:
        return [f"The robots.txt of its host could not be obtained: {host['last_error']}."]
    pattern = judge.blocking_pattern(case.url) if reason == "blocked" else ""
    return [f"The pattern {pattern!r} of `block` matches it."] if pattern else []


def _of_host(case: Case) -> list[str]:
    """It failed without a request: what that means is a matter of its host."""
    host = case.host
    if host is None or host["qualification"] not in ("given-up", "for-good"):
        return []
    again = f"`whimbrel control {case.directory} allow {case.url.site}`, and then `requeue`"
    why = f"its host was given up ({host['last_error']}), which ends all its URLs"
    return [f"It was not asked for: {why}. To try again, while the crawl runs: {again}."]
