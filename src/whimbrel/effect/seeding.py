"""How a crawl begins: its seeds are queued, whatever scope, filters and limits say."""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from whimbrel.commit.journal import Journal
from whimbrel.flow import Needs, Provider
from whimbrel.route.router import Router
from whimbrel.url import Url
from whimbrel.visit import Discovered


class Admission(Protocol):
    """The door by which a URL enters the crawl, once or again."""

    def admit(self, found: Discovered) -> bool:
        """Queue a URL; true when it was not known before."""

    def requeue(self, found: Discovered, outcome: str, reason: str) -> None:
        """Visit a URL once more that ended like this."""


class Requeued(NamedTuple):
    """A URL that is visited once more, and how it ended before."""

    found: Discovered
    outcome: str
    reason: str


class Seeding(Provider):
    """Queues the seeds when the crawl is new, and more of them when asked to. `again` are URLs that are visited once
    more when the crawl goes on."""

    fixed = "the crawl began with it"
    journal = Needs(Journal)
    router = Needs(Router)
    effects = Needs(Admission)

    def __init__(self, config: Any = None, again: Sequence[Requeued] = ()) -> None:
        super().__init__(config)
        self._again = again

    async def open(self) -> None:
        """A run that failed before all seeds were queued may have been committed: it is begun once more. A seed that
        is known is not queued again."""
        if self.journal.seeded:
            for one in self._again:
                self.effects.requeue(*one)
            self.journal.add_event("crawl", "resumed", "")
        else:
            try:
                self.seed()
            except BaseException:
                self.journal.abandon()
                raise
            self.journal.add_event("crawl", "started", " ".join(url.text for url in self.router.seeds))
            self.journal.seeded = True

    def seed(self, urls: tuple[Url, ...] | None = None) -> list[Url]:
        """Begin with these URLs too, or with those of the job. Returns what was not known before: seeds, and parents
        that they propose."""
        return [found.url for found in self.router.begin(urls).found if self.effects.admit(found)]
