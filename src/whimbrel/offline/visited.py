"""Why a visit ended as it did."""

from collections.abc import Callable
from typing import Final

from whimbrel.offline.case import Case, Explanation
from whimbrel.offline.link_judge import Refusal
from whimbrel.qualify.robots_explain import denying_rule
from whimbrel.url import restore

_Said = tuple[str, str]
"""The rule, and a sentence. Either may be empty."""


def explain_visited(case: Case) -> Explanation:
    """Of a URL whose last visit has a final outcome."""
    last = case.facts.visits[-1]
    explain = _BY_OUTCOME.get(last["outcome"])
    rule, sentence = ("", "") if explain is None else explain(case)
    said = [sentence] if sentence else []
    if case.crawl.job_trouble and last["outcome"] in ("denied", "dropped"):
        said.append(f"The job cannot be used, so what it says is not known: {case.crawl.job_trouble}")
    return Explanation("visited", last["reason"], rule, tuple(said))


def _of_redirect(case: Case) -> _Said:
    target = case.facts.visits[-1]["redirect_to"]
    if not target:
        return "", "It redirects to no http or https URL, so nothing is followed."
    said = f"It redirects to {target}"
    ending = case.endings.get(target)
    if ending is not None:
        return target, f"{said}, which ended as {ending[0]} ({ending[1]})."
    judge = case.crawl.judge
    refusal = Refusal() if judge is None else judge.judge_redirect(restore(target))
    if refusal:
        return target, f"{said}, which is not followed ({refusal.reason}): {refusal.detail}."
    return target, f"{said}, which has no visit."


def _of_duplicate(case: Case) -> _Said:
    original = next((row["duplicate_of"] for row in reversed(case.facts.captures) if row["duplicate_of"]), "")
    return original, f"Its document is the same as that of {original}, and was not kept twice." if original else ""


def _of_document(case: Case) -> _Said:
    if case.facts.visits[-1]["reason"] != "truncated-length" or case.crawl.judge is None:
        return "", ""
    rule = f"max_file_size = {case.crawl.judge.setting('transport', 'max_bytes')}"
    return rule, f"Its document is longer than the limit {rule}: what comes after it was not received."


def _of_denial(case: Case) -> _Said:
    match case.facts.visits[-1]["reason"]:
        case "robots":
            return _of_robots(case)
        case "robots-unreachable":
            error = "" if case.host is None else case.host.error
            advice = f"`whimbrel control {case.crawl.directory} allow {case.url.site} --without-robots`"
            return error, (
                f"The robots.txt of its host could not be obtained ({error}), so nothing of the host may be fetched. "
                f"If you may crawl it all the same, while the crawl runs: {advice}, and then `requeue`."
            )
        case _:
            pattern = "" if case.crawl.judge is None else case.crawl.judge.blocking_pattern(case.url)
            return pattern, f"The pattern {pattern!r} of `block` matches it." if pattern else ""


def _of_robots(case: Case) -> _Said:
    crawl = case.crawl
    if crawl.frontier is None:
        return "", f"Which rule of robots.txt denies it is not known now: {crawl.frontier_trouble}."
    if crawl.judge is None:
        return "", ""
    agent = crawl.judge.setting("frontier", "agent", "whimbrel")
    rule = denying_rule(crawl.frontier.robots(case.url), agent, case.url.text)
    if rule:
        return rule, f"{case.url.origin}/robots.txt denies it to {agent!r} by the rule `{rule}`."
    return "", f"{case.url.origin}/robots.txt has changed since: the one that is kept now would allow it."


def _of_drop(case: Case) -> _Said:
    judge = case.crawl.judge
    limit = Refusal() if judge is None else judge.limit(case.url, case.facts.visits[-1]["reason"])
    return limit.rule, f"It was never asked for: {limit.detail}." if limit else ""


def _of_failure(case: Case) -> _Said:
    last, host = case.facts.visits[-1], case.host
    if case.crawl.is_import:
        return "", ""
    if last["status"] or last["ip"]:
        tries = last["attempt"]
        return "", f"It was tried {tries} times." if tries > 1 else ""
    if host is None or not host.is_given_up:
        return "", f"It was not asked for: its host was given up then ({last['reason']}), which ended all its URLs."
    again = f"`whimbrel control {case.crawl.directory} allow {case.url.site}`, and then `requeue`"
    return host.error, (
        f"It was not asked for: its host was given up ({host.error}), which ends all its URLs. To try again, while "
        f"the crawl runs: {again}."
    )


_BY_OUTCOME: Final[dict[str, Callable[[Case], _Said]]] = {
    "stored": _of_document,
    "duplicate": _of_duplicate,
    "redirected": _of_redirect,
    "denied": _of_denial,
    "dropped": _of_drop,
    "failed": _of_failure,
}
