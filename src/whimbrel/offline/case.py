"""What is known of a URL and of its crawl, as the explanation of the URL needs it."""

from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Literal

import msgspec

from whimbrel.commit.committed import IMPORT_LIST, Committed
from whimbrel.error import Busy, WhimbrelError
from whimbrel.frontier.reader import FrontierReader, QueuedUrl
from whimbrel.job.options import JOB_FILE
from whimbrel.offline.link_judge import LinkJudge, Refusal
from whimbrel.offline.mention import Mention
from whimbrel.offline.url_facts import Rows, UrlFacts
from whimbrel.state.lock import check_unlocked
from whimbrel.state.rocks import RocksState
from whimbrel.url import Url

Kind = Literal["visited", "queued", "refused", "unknown", "unclear"]


class Explanation(msgspec.Struct, frozen=True):
    """Why a URL is where it is."""

    kind: Kind
    """`visited`: it has an outcome. `queued`: it waits. `refused`: pages refer to it, and it is not followed.
    `unknown`: nothing that was fetched refers to it. `unclear`: the files that could tell cannot be read."""
    reason: str
    """Of the outcome, of the refusal, or what it waits for; of an unknown URL, why a link to it would not bring a page.
    docs/outcomes.md has the words."""
    rule: str
    """What decided: a pattern, a limit with its value, a line of robots.txt, where a redirect leads."""
    sentences: tuple[str, ...]


class CrawlCase:
    """What holds for all URLs of a crawl."""

    def __init__(
        self, directory: Path, committed: Committed, frontier: FrontierReader | None, frontier_trouble: str
    ) -> None:
        self.directory = directory
        self.committed = committed
        self.frontier = frontier
        """None when the state cannot be read."""
        self.frontier_trouble = frontier_trouble
        """Why the state cannot be read; else empty."""
        self.is_import = (directory / IMPORT_LIST).exists() and not (directory / JOB_FILE).exists()
        self.pages_read_in_part = 0
        self.judge: LinkJudge | None = None
        """None for an import, which has no job, and when the job cannot be used."""
        self.job_trouble = ""
        """Why the job cannot be used; else empty."""

    def read_job(self, leads: tuple[str, ...]) -> None:
        if self.is_import:
            return
        try:
            self.judge = LinkJudge(self.directory, leads)
        except (WhimbrelError, ValueError) as error:
            self.job_trouble = str(error)

    @cached_property
    def is_running(self) -> bool:
        try:
            check_unlocked(self.directory, self.directory / RocksState.folder)
        except Busy:
            return True
        return False

    @cached_property
    def taken(self) -> int:
        """Requests for pages that are over."""
        return self.committed.counters.visits if self.frontier is None else self.frontier.taken()


class HostStanding(msgspec.Struct, frozen=True):
    """How the host of a URL stands."""

    standing: str
    """`new`, `qualified`, `disqualified`, `for-good`, `parked` or `given-up`."""
    error: str
    until: datetime | None
    """When it is asked again, or tried again."""
    queued: int
    taken: int
    """Requests made for its pages."""
    sitemaps: tuple[str, ...] = ()
    """That its robots.txt names."""

    @property
    def is_given_up(self) -> bool:
        return self.standing in ("given-up", "for-good")


class Case(msgspec.Struct, frozen=True):
    """A URL, and all that is known of it."""

    url: Url
    crawl: CrawlCase
    facts: UrlFacts
    links: list[Refusal]
    """Of each kind of link, and of each redirect, to this URL; empty ones are followed."""
    queued: QueuedUrl | None
    host: HostStanding | None
    mention: Mention | None = None
    """For a URL without links: where a page refers to it all the same."""
    searched: int = 0
    """Pages that were searched for such a place."""
    has_record: bool = False
    """Of an import: a record of it was kept, and made no rows."""
    similar: Rows = []
    endings: dict[str, tuple[str, str]] = {}
    """Outcome and reason of the URLs that it redirects to."""

    @property
    def is_linked(self) -> bool:
        """Something that was fetched leads to it."""
        return self.facts.is_linked or self.is_named_sitemap

    @property
    def is_named_sitemap(self) -> bool:
        return self.host is not None and self.url.text in self.host.sitemaps

    @property
    def is_seed(self) -> bool:
        return self.crawl.judge is not None and self.crawl.judge.is_seed(self.url)


def host_standing(url: Url, facts: UrlFacts, frontier: FrontierReader | None) -> HostStanding | None:
    """From the state, which knows best, or from the table; None when no URL of the host was ever queued."""
    host = None if frontier is None else frontier.host(url)
    if host is not None:
        found, record = host.summary, host.record
        until_s = host.not_before_s if found.standing == "parked" else found.until_s
        error = record.last_error
        if record.qualification is not None and found.standing in ("disqualified", "for-good", "given-up"):
            error = record.qualification.detail or error
        until = datetime.fromtimestamp(until_s, UTC) if until_s else None
        sitemaps = () if record.qualification is None else record.qualification.sitemaps
        return HostStanding(found.standing, error, until, record.queued, record.taken, sitemaps)
    for row in facts.host:
        taken = row["fetched"] + row["failed"]
        return HostStanding(row["qualification"], row["last_error"], row["until"], row["queued"], taken)
    return None
