"""The end of every visit: its outcome is kept, then the frontier may forget it."""

from whimbrel.archive.api import Archive
from whimbrel.clock import Clock
from whimbrel.flow import In, Needs, Sync
from whimbrel.frontier.api import Frontier
from whimbrel.parse.api import Visited


class Archivist(Sync):
    visited = In(Visited)
    archive = Needs(Archive)
    frontier = Needs(Frontier)
    clock = Needs(Clock)

    def process(self, visited: Visited) -> None:
        self.archive.keep(visited)
        self.frontier.finish(visited.fetched.visit, self.clock.now_s())
