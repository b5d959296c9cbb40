"""Why a URL has no visit, or no final one: it waits, it is refused, or nothing refers to it."""

from datetime import UTC, datetime
from typing import Final, NamedTuple

from whimbrel.offline.case import Case, CrawlCase, Explanation, HostStanding
from whimbrel.offline.link_judge import LinkJudge, Refusal, of_kind
from whimbrel.parse.api import PageLink
from whimbrel.qualify.robots_explain import denying_rule
from whimbrel.route.link_rule import REQUISITES
from whimbrel.terminal import counted

_RETRY: Final = "retry"
_TURN: Final = "turn"


def explain_unvisited(case: Case) -> Explanation:
    crawl = case.crawl
    if crawl.is_import:
        return _not_imported(case)
    waits = case.queued is not None or (bool(case.facts.visits) and crawl.frontier is None)
    if waits and crawl.judge is not None:
        return _waiting(case, crawl.judge)
    if crawl.judge is None:
        where = "it is queued" if waits else "it has no visit"
        said = f"{case.url}: {where}. The job cannot be used, so what it says is not known: {crawl.job_trouble}"
        return Explanation("queued" if waits else "unclear", "", "", (said,))
    if case.is_linked:
        return _refused(case, crawl.judge)
    if case.mention is not None:
        return _mentioned(case)
    return _unknown(case, crawl.judge)


def _not_imported(case: Case) -> Explanation:
    if case.has_record:
        said = (
            f"The imported files have a record of {case.url} that is no page: a revisit whose payload is in none of "
            "them, or what another program noted about it. It was kept in the archive, and is in no table."
        )
        return Explanation("unclear", "import", "", (said,))
    said = f"{case.url} is in none of the imported files."
    if case.is_linked:
        return Explanation("refused", "import", "", (f"{said} Pages link to it; an import follows no links.",))
    if case.mention is not None:
        where = f"{case.mention.source} refers to it in `{case.mention.place}`; an import follows no links."
        return Explanation("refused", "import", case.mention.kind, (f"{said} {where}",))
    sentences = (f"{said} No imported page links to it{_searched(case)}.{_in_part(case)}", *_similar(case))
    return Explanation("unknown", "import", "", sentences)


class _Wait(NamedTuple):
    """What a queued URL waits for."""

    reason: str
    rule: str
    sentence: str


def _waiting(case: Case, judge: LinkJudge) -> Explanation:
    visits, wait = case.facts.visits, _wait(case, judge)
    retry_at_s = None if case.queued is None else case.queued.retry_at_s
    what = "is to be visited again" if visits else f"is queued: {_origin(case)}"
    when = "" if retry_at_s is None else f", not before {datetime.fromtimestamp(retry_at_s, UTC):%Y-%m-%d %H:%M:%S}"
    said = [f"{case.url} {what}{when}. {wait.sentence}"]
    denial = _denial(case, judge)
    if denial:
        said.append(f"When its turn comes it will be denied: {denial.detail}.")
    return Explanation("queued", wait.reason, wait.rule, tuple(said))


def _origin(case: Case) -> str:
    """How a queued URL was found."""
    source = "" if case.queued is None else case.queued.entry.source
    if source:
        return f"it was found on {source}"
    return "it is a seed" if case.is_seed else "the operator named it, or it is the folder of another URL"


def _wait(case: Case, judge: LinkJudge) -> _Wait:
    """The questions are asked in the order of the scheduler (`HostScheduler.turn`)."""
    directory, host = case.crawl.directory, case.host
    if host is not None and host.is_given_up:
        again = f"`whimbrel control {directory} allow {case.url.site}` has it asked again"
        said = f"Its host is given up ({host.error}): its URLs end without a request. {again}."
        return _Wait("given-up", host.error, said)
    name = judge.blocking(case.url)
    if name:
        lifted = f"`whimbrel control {directory} unblock {name}`"
        said = f"Its host is blocked by {name!r}: its queue is kept, and goes on once the block is lifted ({lifted})."
        return _Wait("blocked-domain", name, said)
    most = judge.setting("frontier", "max_pages_per_host")
    if host is not None and most is not None and host.taken >= most:
        rule = f"max_pages_per_host = {most}"
        return _Wait("max-pages-per-host", rule, f"Its host has had as many requests as it may have (`{rule}`).")
    return _wait_for_host(case, host, _wait_for_crawl(case.crawl, judge))


def _wait_for_host(case: Case, host: HostStanding | None, crawl: _Wait) -> _Wait:
    if host is None or host.standing == "new":
        return _Wait("new-host", "", f"Its host has not been asked for its robots.txt yet. {crawl.sentence}".rstrip())
    until = "" if host.until is None else f", not before {host.until:%Y-%m-%d %H:%M:%S}"
    if host.standing == "disqualified":
        said = f"Its host may not be visited now ({host.error}); it is asked again{until}. {crawl.sentence}"
        return _Wait(host.standing, host.error, said.rstrip())
    if host.standing == "parked":
        said = f"Its host is parked, because it failed several times in a row ({host.error}): its queue is kept, and"
        return _Wait(host.standing, host.error, f"{said} it is tried again later{until}. {crawl.sentence}".rstrip())
    reason = _RETRY if crawl.reason == _TURN and case.facts.visits else crawl.reason
    said = crawl.sentence or "Its turn has not come yet."
    return _Wait(reason, crawl.rule, f"Its host is {host.standing}. {said}")


def _wait_for_crawl(crawl: CrawlCase, judge: LinkJudge) -> _Wait:
    """Why a crawl that does not run has stopped, and how it goes on; no sentence when it runs."""
    if crawl.is_running:
        return _Wait(_TURN, "", "")
    most = judge.setting("frontier", "max_pages")
    if most is not None and crawl.taken >= most:
        again = f"`whimbrel resume {crawl.directory} --max-pages N`"
        rule = f"max_pages = {most}"
        return _Wait("max-pages", rule, f"The crawl ended at its limit of max_pages = {most:,}; {again} goes on.")
    return _Wait("stopped", "", f"The crawl has stopped; `whimbrel resume {crawl.directory}` goes on.")


def _refused(case: Case, judge: LinkJudge) -> Explanation:
    """It is linked, and not queued."""
    url, crawl = case.url, case.crawl
    refusals = list(dict.fromkeys(refusal for refusal in case.links if refusal))
    if refusals and all(case.links):
        reasons = "; ".join(f"{refusal.detail} ({refusal.reason})" for refusal in refusals)
        said = f"{url} is not visited: a link to it is refused, because {reasons}."
        return Explanation("refused", refusals[0].reason, refusals[0].rule, (said,))
    if crawl.frontier is None:
        said = f"{url} has no visit; links to it are followed. Whether it is queued is not known now: "
        return Explanation("unclear", "", "", (f"{said}{crawl.frontier_trouble}.",))
    program = " The filters of the program that ran it are not known here." if judge.options.handlers else ""
    said = (
        f"{url} was not visited, and is not queued. The job as it is now would follow the links to it, so scope "
        f"or filters were others when it was found.{program}"
    )
    return Explanation("refused", "job-changed", "", (said,))


def _mentioned(case: Case) -> Explanation:
    mention = case.mention
    if mention is None:
        raise AssertionError("nothing refers to it")
    said = f"{case.url} is not visited: {mention.source} refers to it in `{mention.place}`, and"
    if mention.truncated and mention.kind not in {*REQUISITES, "form"}:
        why = f"that page was read only in part (`truncated` = {mention.truncated}), so the link was not found"
        return Explanation("refused", "read-in-part", mention.truncated, (f"{said} {why}.",))
    return Explanation("refused", "not-followed", mention.kind, (f"{said} {of_kind(mention.kind)} (not-followed).",))


def _unknown(case: Case, judge: LinkJudge) -> Explanation:
    yet = "" if case.crawl.committed.state == "done" else " so far"
    said = [f"{case.url} is not known: nothing that was fetched links to it{yet}{_searched(case)}.{_in_part(case)}"]
    said += _similar(case)
    would = _prospect(case, judge)
    if would:
        said.append(f"A link to it would be refused ({would.reason}): {would.detail}.")
    else:
        said.append("A link to it would be followed.")
    return Explanation("unknown", would.reason, would.rule, tuple(said))


def _prospect(case: Case, judge: LinkJudge) -> Refusal:
    """What would become of a plain link to it on a seed."""
    url, host = case.url, case.host
    refusal = judge.judge(url, PageLink(url.text), judge.seeds[0] if judge.seeds else url, 0)
    if refusal:
        return refusal
    if host is not None and host.is_given_up:
        return Refusal("given-up", host.error, f"its host is given up ({host.error})")
    return _denial(case, judge)


def _denial(case: Case, judge: LinkJudge) -> Refusal:
    """What forbids to visit a URL that is queued."""
    frontier, url = case.crawl.frontier, case.url
    agent = judge.setting("frontier", "agent", "whimbrel")
    rule = "" if frontier is None else denying_rule(frontier.robots(url), agent, url.text)
    if rule:
        return Refusal("robots", rule, f"the robots.txt of its host has the rule `{rule}`")
    pattern = judge.blocking_pattern(url)
    return Refusal("blocked", pattern, f"the pattern {pattern!r} of `block` matches it") if pattern else Refusal()


def _searched(case: Case) -> str:
    """What holds for links holds for all pages; other places are looked for in some of them."""
    if not case.searched:
        return ""
    return f", and no picture, style or form in {counted(case.searched, 'searched page')} leads to it"


def _similar(case: Case) -> list[str]:
    return [f"The crawl knows {', '.join(row['url'] for row in case.similar)}."] if case.similar else []


def _in_part(case: Case) -> str:
    count = case.crawl.pages_read_in_part
    if not count:
        return ""
    pages = "1 page was" if count == 1 else f"{count:,} pages were"
    return f" {pages} read only in part (`truncated` in the table `pages`), so a link may have been missed."
