"""The end of a crawl that runs in one process."""

from whimbrel.flow import Config, Needs, Provider
from whimbrel.frontier.api import CommitStatus, Frontier, Gate
from whimbrel.observable import Observable


class TerminationConfig(Config, frozen=True):
    patience_s: float = 600.0
    """When nothing is under way and nothing is due within this time, the crawl ends with work left."""


class LocalTermination(Provider, Observable):
    """The crawl is over when its own frontier has nothing to wait for."""

    Config = TerminationConfig
    live = frozenset({"patience_s"})
    frontier = Needs(Frontier)
    journal = Needs(CommitStatus)
    gate = Needs(Gate)

    def is_over(self) -> bool:
        frontier = self.frontier
        if self.journal.behind or self.gate.closed_for or frontier.visiting or frontier.qualifying:
            return False
        due_s = frontier.due_in_s()
        return due_s is None or due_s > self.config.patience_s

    def reconfigure(self, config: TerminationConfig) -> None:
        self.config = config
        self._tell()
