"""The whole story of a URL: each visit, its page, who links to it, its host, and why it is where it is."""

import os
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import Any, Final, Self

import msgspec

from whimbrel.commit.committed import Committed, read_committed
from whimbrel.commit.recovery import last_commit
from whimbrel.commit.verify_state import check_not_older
from whimbrel.effect.scope_lead import stored_leads
from whimbrel.error import UsageError
from whimbrel.frontier.reader import FrontierReader
from whimbrel.job.seed import typed_url
from whimbrel.offline.case import Case, CrawlCase, Explanation, Kind, host_standing
from whimbrel.offline.kept_record import urls_with_records
from whimbrel.offline.link_judge import LinkJudge, Refusal
from whimbrel.offline.mention import MentionFinder
from whimbrel.offline.unvisited import explain_unvisited
from whimbrel.offline.url_facts import FactsReader, LinkGroup, Rows, UrlFacts
from whimbrel.offline.visited import explain_visited
from whimbrel.parse.api import PageLink
from whimbrel.query.open_snapshot import latest_snapshot
from whimbrel.query.sql import Query, QueryConfig
from whimbrel.state.api import StateError
from whimbrel.state.reader import StateReader
from whimbrel.url import Url, restore
from whimbrel.url.userinfo import redacted_url

_AT_ONCE: Final = 5_000
"""URLs that each table is read for at once."""


class NotAUrl(UsageError, ValueError):
    """A text that is not an http or https URL."""


class UrlStory(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a URL. Rows are those of the tables, as dictionaries."""

    url: str
    """Canonical."""
    kind: Kind
    """`visited`: it has an outcome. `queued`: it waits. `refused`: pages refer to it, and it is not followed.
    `unknown`: nothing that was fetched refers to it. `unclear`: the files that could tell cannot be read."""
    outcome: str = ""
    """Of the last visit; empty when there is none."""
    reason: str = ""
    """Of the outcome, of the refusal, or what it waits for; of an unknown URL, why a link to it would not bring a
    page."""
    rule: str = ""
    """What decided: a pattern, a limit with its value, a line of robots.txt, where a redirect leads."""
    explanation: list[str] = []
    """The same in sentences."""
    refusals: list[Refusal] = []
    """Why each kind of link to it is not followed."""
    seed: bool = False
    """Whether the job names it."""
    visits: Rows = []
    """Its rows of `fetches`, the last word last."""
    captures: Rows = []
    """Its rows of `captures`."""
    page: Rows = []
    """Its row of `pages`, if it has one."""
    linked_from: Rows = []
    """Some links to it, with their number in all."""
    redirected_from: Rows = []
    """Some URLs that redirect to it."""
    host: Rows = []
    """The row of its host."""
    similar: Rows = []
    """Visited URLs that differ from an unknown one in scheme or port only."""


class Explainer:
    """Tells what became of URLs, as far as it was committed when this was opened; also beside a running crawl. Use as a
    context."""

    def __init__(self, directory: "str | os.PathLike[str]") -> None:
        self._directory = Path(directory)
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            published = read_committed(self._directory)  # NotACrawl where nothing was committed yet.
            state, trouble = self._opened_state(stack, published)
            commits: list[Committed] = []

            def read(directory: Path) -> Committed:
                commits.append(read_committed(directory) if state is None else _commit_of(state))
                return commits[-1]

            snapshot = latest_snapshot(self._directory, read)
            query = stack.enter_context(Query([snapshot], QueryConfig()))
            self._facts = FactsReader(lambda sql: _rows(query, sql))
            self._mentions = MentionFinder(lambda sql: _rows(query, sql), snapshot)
            frontier = None if state is None else FrontierReader(state)
            self._crawl = CrawlCase(self._directory, commits[-1], frontier, trouble)
            self._crawl.pages_read_in_part = self._facts.pages_read_in_part
            self._crawl.read_job(() if state is None else stored_leads(state))
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _opened_state(self, stack: ExitStack, published: Committed) -> tuple[StateReader | None, str]:
        """The state; None with the reason where it cannot be read, as after a later version, or in half a copy."""
        try:
            state = stack.enter_context(StateReader(self._directory))
            check_not_older(self._directory, state, published)
        except StateError as error:
            return None, str(error)
        return state, ""

    def story(self, url: str) -> UrlStory:
        """Of one URL, as a person writes it: without a scheme it is https. Raises NotAUrl."""
        return next(self.stories([url]))

    def stories(self, urls: Iterable[str]) -> Iterator[UrlStory]:
        """Of many, in their order: much faster than one by one. Raises NotAUrl."""
        parsed = map(_parsed, urls)
        while some := tuple(islice(parsed, _AT_ONCE)):
            yield from self._tell(some)

    def _tell(self, urls: tuple[Url, ...]) -> list[UrlStory]:
        facts = self._facts.read(urls)
        targets = {one.visits[-1]["redirect_to"] for one in facts.values() if one.visits}
        endings = self._facts.endings(targets - {""})
        cases = [self._case(url, facts[url.text], endings) for url in urls]
        unlinked = [case.url for case in cases if _is_unlinked(case)]
        mentions = self._mentions.find(unlinked)
        similar = self._facts.similar(unlinked) if unlinked else {}
        records = self._kept_records(cases)
        told = []
        for case in cases:
            if case.url.text in records:
                case = msgspec.structs.replace(case, has_record=True)  # noqa: PLW2901
            if _is_unlinked(case):
                text = case.url.text
                case = msgspec.structs.replace(  # noqa: PLW2901
                    case,
                    mention=mentions.get(text),
                    searched=self._mentions.searched(case.url),
                    similar=similar.get(text, []),
                )
            told.append(_story(case, _explain(case)))
        return told

    def _kept_records(self, cases: list[Case]) -> set[str]:
        if not self._crawl.is_import:
            return set()
        unvisited = {case.url.text for case in cases if not case.facts.visits}
        return urls_with_records(self._directory, self._crawl.committed, unvisited)

    def _case(self, url: Url, facts: UrlFacts, endings: dict[str, tuple[str, str]]) -> Case:
        frontier, judge = self._crawl.frontier, self._crawl.judge
        host = host_standing(url, facts, frontier)
        links = [] if judge is None else _judged(url, judge, facts)
        if judge is not None and host is not None and url.text in host.sitemaps:
            links.append(judge.judge(url, PageLink(url.text, kind="sitemap"), url, 0))
        queued = None if frontier is None else frontier.queued(url)
        return Case(url, self._crawl, facts, links, queued, host, endings=endings)


def _commit_of(state: StateReader) -> Committed:
    """The last commit as the state describes it: its tables are of the same moment."""
    state.catch_up()
    return last_commit(state.get)


def _rows(query: Query, sql: str) -> Rows:
    with query.run(sql) as answer:
        return [row for batch in answer for row in batch.to_pylist()]


def _parsed(text: str) -> Url:
    url = typed_url(text)
    if url is None:
        raise NotAUrl(f"{redacted_url(text)!r} is not an http or https URL")
    return url


def _is_unlinked(case: Case) -> bool:
    return not (case.facts.visits or case.is_linked or case.queued)


def _judged(url: Url, judge: LinkJudge, facts: UrlFacts) -> list[Refusal]:
    """For each kind of link to a URL, and for its redirects, why it is not followed."""
    found = [_judged_group(url, judge, group) for group in facts.links]
    return found + ([judge.judge_redirect(url)] if facts.redirected_from else [])


def _judged_group(url: Url, judge: LinkJudge, group: LinkGroup) -> Refusal:
    link = PageLink(url.text, rel="nofollow" if group.nofollow else "", kind=group.kind)
    robots = ("nofollow",) if group.page_nofollow else ()
    return judge.judge(url, link, restore(group.nearest[0]["source"]), group.depth, robots)


def _explain(case: Case) -> Explanation:
    visits = case.facts.visits
    return explain_visited(case) if visits and visits[-1]["outcome"] != "retry" else explain_unvisited(case)


def _story(case: Case, why: Explanation) -> UrlStory:
    facts = case.facts
    return UrlStory(
        url=case.url.text,
        kind=why.kind,
        outcome=facts.visits[-1]["outcome"] if facts.visits else "",
        reason=why.reason,
        rule=why.rule,
        explanation=list(why.sentences),
        refusals=list(dict.fromkeys(refusal for refusal in case.links if refusal)),
        seed=case.is_seed,
        visits=facts.visits,
        captures=facts.captures,
        page=facts.page,
        linked_from=facts.linked_from,
        redirected_from=facts.redirected_from,
        host=facts.host,
        similar=case.similar,
    )


def as_dict(story: UrlStory) -> dict[str, Any]:
    """For JSON."""
    return {**msgspec.structs.asdict(story), "refusals": [msgspec.structs.asdict(one) for one in story.refusals]}
