"""A crawl while it runs, with the parts that control and display need."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path

import msgspec

from whimbrel.commit.journal import Journal
from whimbrel.effect.effects import Effects
from whimbrel.effect.seeding import Seeding
from whimbrel.flow import Job, Registry
from whimbrel.frontier.api import Frontier, Gate
from whimbrel.frontier.disk_frontier import DiskFrontier
from whimbrel.frontier.gate import PacedGate
from whimbrel.handle.rule import HandlerRules
from whimbrel.job import part_name
from whimbrel.job.options import ResolvedOptions
from whimbrel.job.part_name import provider
from whimbrel.job.progress import Progress, ProgressMeter

Show = Callable[[Progress], None]
Say = Callable[[str], None]


@dataclass
class LiveCrawl:
    """`given` is what the crawl runs by now. Code that changes it changes the job as well."""

    given: ResolvedOptions
    kept: ResolvedOptions
    """What the job file says: without what holds for this run only."""
    job: Job
    directory: Path
    registry: Registry
    rules: HandlerRules | None
    show: Show
    say: Say

    def __post_init__(self) -> None:
        self._meter = ProgressMeter()
        self.stopped_by = ""
        """The limit on time or bytes that has stopped it, as the option that sets it."""

    @property
    def up(self) -> bool:
        """Whether everything is open: before and after that there is nothing to look at."""
        return self.job.state in ("running", "draining")

    @property
    def frontier(self) -> Frontier:
        return provider(self.job, part_name.FRONTIER, DiskFrontier)

    @property
    def gate(self) -> Gate:
        return provider(self.job, part_name.GATE, PacedGate)

    @property
    def journal(self) -> Journal:
        return provider(self.job, part_name.JOURNAL, Journal)

    @property
    def effects(self) -> Effects:
        return provider(self.job, part_name.EFFECTS, Effects)

    @property
    def seeding(self) -> Seeding:
        return provider(self.job, part_name.SEEDING, Seeding)

    def progress(self) -> Progress | None:
        """The numbers of this moment; None while the crawl is not up."""
        if not self.up:
            return None
        queues = {name: queue.queued + queue.unacknowledged for name, queue in self.job.graph.queues.items()}
        progress = self._meter.measure(self.frontier, self.journal, queues, self.given.options)
        # What is stopped ends with the visits under way, and not when its queue or a limit would have ended it.
        return progress if self.job.state == "running" else msgspec.structs.replace(progress, left_s=None, left_by="")


Attend = Callable[[LiveCrawl], AbstractAsyncContextManager[None]]
"""Entered when a crawl begins, left when it ends."""
