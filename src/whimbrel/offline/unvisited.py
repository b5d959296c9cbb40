"""Why a URL has no visit, or no final one: refused, held back, or not known."""

from pathlib import Path
from typing import Any

import msgspec

from whimbrel.commit.committed import Committed
from whimbrel.offline.link_judge import LinkJudge, Refusal
from whimbrel.url import Url


class Case(msgspec.Struct, frozen=True):
    """A URL, and all that is known of it."""

    url: Url
    directory: Path
    committed: Committed
    story: dict[str, Any]
    judge: LinkJudge | None
    """None for an import, and when the job cannot be used."""
    trouble: str
    """Why the job cannot be used; else empty."""
    links: list[Refusal]
    """Of each kind of link, and of each redirect, to this URL."""
    unlinked: Refusal
    """Of a plain link to it."""

    @property
    def host(self) -> dict[str, Any] | None:
        return next(iter(self.story["host"]), None)

    @property
    def is_linked(self) -> bool:
        return bool(self.story["linked_from"] or self.story["redirected_from"])


def explain_unvisited(case: Case) -> list[str]:
    url = case.url
    if case.judge is None:
        return [_without_job(case)]
    if case.story["seed"] or any(not refusal for refusal in case.links):
        return [_held(case, case.judge)]
    if case.is_linked:
        reasons = dict.fromkeys(f"{refusal.detail} ({refusal.reason})" for refusal in case.links)
        said = "; ".join(reasons) or "its links are those of an earlier capture (links_history)"
        return [f"{url} is not visited: a link to it is refused, because {said}.", *_queued_before(case, case.judge)]
    return _unknown(case)


def explain_retry(case: Case) -> str:
    """The last visit failed, and is to be made again."""
    last = case.story["visits"][-1]
    when = "" if last["retry_at"] is None else f", not before {last['retry_at']:%Y-%m-%d %H:%M:%S}"
    again = f"It is to be visited again{when}."
    return again if case.judge is None else f"{again} {_holding(case, case.judge)}"


def _without_job(case: Case) -> str:
    if case.trouble:
        return f"{case.url} has no visit. The job cannot be used, so what it says is not known: {case.trouble}"
    said = "Pages link to it; an import follows no links" if case.is_linked else "No imported page links to it"
    return f"{case.url} is in none of the imported files. {said}.{_in_part(case)}"


def _unknown(case: Case) -> list[str]:
    story = case.story
    yet = "" if case.committed.state == "done" else " so far"
    said = [f"{case.url} is not known: nothing that was fetched links to it{yet}.{_in_part(case)}"]
    if story["similar"]:
        said.append(f"The crawl knows {', '.join(row['url'] for row in story['similar'])}.")
    if case.unlinked:
        said.append(f"A link to it would be refused ({case.unlinked.reason}): {case.unlinked.detail}.")
    else:
        said.append("The job's scope and filters would allow a link to it.")
    if case.judge is not None and not case.judge.options.requisites:
        said.append(
            "Images, styles and scripts of pages are recorded only with --requisites, and forms only if they use GET: "
            "a page may still refer to it in such a way, which is not followed."
        )
    return said


def _in_part(case: Case) -> str:
    count = case.story["pages_read_in_part"]
    if not count:
        return ""
    pages = "1 page was" if count == 1 else f"{count:,} pages were"
    return f" {pages} read only in part (`truncated` in the table `pages`), so a link may have been missed."


def _held(case: Case, judge: LinkJudge) -> str:
    """A seed, or a URL with a link that is followed, has no visit."""
    what = "a seed" if case.story["seed"] else "linked, and links like these are followed"
    if case.committed.state == "done":
        program = " The filters of the program that ran it are not known here." if judge.options.handlers else ""
        return (
            f"{case.url} was not visited, and is not queued: the crawl is done. It is {what} by the job as it is now, "
            f"so scope or filters were others when it was found.{program}"
        )
    return f"{case.url} is {what}; it is queued. {_holding(case, judge)}"


def _queued_before(case: Case, judge: LinkJudge) -> list[str]:
    name, host = judge.blocking(case.url.host), case.host
    if not name or host is None or not host["queued"]:
        return []
    lifted = f"`whimbrel control {case.directory} unblock {name}`"
    queued = "1 URL" if host["queued"] == 1 else f"{host['queued']:,} URLs"
    said = f"{queued} of its host, perhaps this one among them, stay queued from before the block"
    return [f"{said}, and will be visited once it is lifted ({lifted})."]


def _holding(case: Case, judge: LinkJudge) -> str:
    """What a queued URL waits for."""
    directory, host = case.directory, case.host
    name = judge.blocking(case.url.host)
    if name:
        return (
            f"Its host is blocked by {name!r}: its queue is kept, and goes on once the block is lifted "
            f"(`whimbrel control {directory} unblock {name}`)."
        )
    standing = "new" if host is None else host["qualification"]
    error = "" if host is None else host["last_error"]
    site = case.url.site
    if host is not None and standing in ("given-up", "for-good"):
        return (
            f"Its host is given up ({error}): its URLs end as failed, without a request. "
            f"`whimbrel control {directory} allow {site}` has it asked again."
        )
    if host is not None and standing == "disqualified":
        until = "" if host["until"] is None else f", not before {host['until']:%Y-%m-%d %H:%M:%S}"
        return f"Its host may not be visited now ({error}); it is asked again{until}.{_resume(case, judge)}"
    if standing == "parked":
        return (
            f"Its host is parked, because it failed several times in a row ({error}): its queue is kept, and it is "
            f"tried again later.{_resume(case, judge)}"
        )
    if standing == "new":
        return f"Its host has not been asked for its robots.txt yet.{_resume(case, judge)}"
    most = judge.max_pages_per_host
    if host is not None and most is not None and host["fetched"] + host["failed"] >= most:
        return f"Its host has had as many visits as it may have (`max_pages_per_host` = {most:,})."
    return f"Its host is {standing}.{_resume(case, judge) or ' Its turn has not come yet.'}"


def _resume(case: Case, judge: LinkJudge) -> str:
    """How a crawl that does not run goes on; empty when it runs, as far as is known."""
    if case.committed.state == "running":
        return ""
    most = judge.options.max_pages
    if most is not None and case.committed.counters.visits >= most:
        again = f"`whimbrel resume {case.directory} --max-pages N`"
        return f" The crawl ended at its limit of max_pages = {most:,}; {again} goes on."
    return f" The crawl has stopped; `whimbrel resume {case.directory}` goes on."
