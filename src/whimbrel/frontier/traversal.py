"""Takes what the frontier lets out, until there is nothing left."""

from whimbrel.clock import Clock
from whimbrel.flow import Async, Needs, Out
from whimbrel.frontier.api import Frontier, Visit


class Traversal(Async):
    visits = Out(Visit)
    frontier = Needs(Frontier)
    clock = Needs(Clock)

    async def run(self) -> None:
        self.frontier.listen(self.activity.set)
        while not self.draining:
            visit = self.frontier.take(self.clock.now_s())
            if visit is not None:
                await self.visits.put(visit)
            elif self.frontier.empty:
                return
            else:
                due_s = self.frontier.due_s()
                await self.woken(None if due_s is None else max(0.0, due_s - self.clock.now_s()))
