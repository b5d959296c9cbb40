"""A crawl at work, as those see it who attend to it."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from whimbrel.commit.journal import Journal
from whimbrel.commit.settlement import Settlement
from whimbrel.flow import Job, Registry
from whimbrel.frontier.disk import DiskFrontier
from whimbrel.frontier.gate import Gate
from whimbrel.handle.rule import Rules
from whimbrel.job.options import Given
from whimbrel.job.progress import Progress, Watch

Show = Callable[[Progress], None]
Say = Callable[[str], None]


@dataclass
class Running:
    """`given` is what the crawl runs by now; who changes it sees to it that the job follows."""

    given: Given
    kept: Given
    """What the job file says: without what holds for this run only."""
    job: Job
    directory: Path
    registry: Registry
    rules: Rules | None
    show: Show
    say: Say

    def __post_init__(self) -> None:
        self.watch = Watch()

    @property
    def up(self) -> bool:
        """Whether everything is open: before and after that there is nothing to look at."""
        return self.job.state in ("running", "draining")

    @property
    def frontier(self) -> DiskFrontier:
        return cast("DiskFrontier", self.job.graph.providers["frontier"])

    @property
    def gate(self) -> Gate:
        return cast("Gate", self.job.graph.providers["gate"])

    @property
    def journal(self) -> Journal:
        return cast("Journal", self.job.graph.providers["journal"])

    @property
    def settlement(self) -> Settlement:
        return cast("Settlement", self.job.graph.providers["settlement"])

    def look(self) -> Progress | None:
        """The crawl at this moment; None while it is not up."""
        if not self.up:
            return None
        queues = {name: queue.queued + queue.unacknowledged for name, queue in self.job.graph.queues.items()}
        return self.watch.look(self.frontier, self.journal, queues, self.given.options.connections)


Attend = Callable[[Running], AbstractAsyncContextManager[None]]
"""Entered when a crawl begins, left when it ends."""
