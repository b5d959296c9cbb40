"""URL-seen and frontier in memory, breadth first within a host, one visit at a time per host.

Both grow with the crawl: enough for a simulated web, not for the real one.
"""

import heapq
from collections import deque
from collections.abc import Callable
from itertools import count

from whimbrel.flow import Config, Provider
from whimbrel.frontier.api import Discovered, Visit
from whimbrel.url import Url


class MemorySeen(Provider):
    """Exact, and as large as the crawl."""

    def __init__(self, config: object = None) -> None:
        super().__init__(config)
        self._seen: set[str] = set()

    def add(self, url: Url) -> bool:
        before = len(self._seen)
        self._seen.add(url.text)
        return len(self._seen) > before


class FrontierConfig(Config, frozen=True):
    delay_s: float = 1.0
    """From the end of a visit to the start of the next on the same host."""
    max_pages: int | None = None
    """Visits handed out in all; None is no limit."""


class MemoryFrontier(Provider):
    """A host is in `_ready` when it may be visited, in `_waiting` until its delay is over, in neither during a
    visit."""

    Config = FrontierConfig

    def __init__(self, config: FrontierConfig) -> None:
        super().__init__(config)
        self._queues: dict[str, deque[Visit]] = {}
        self._ready: deque[str] = deque()
        self._waiting: list[tuple[float, int, str]] = []
        self._busy: set[str] = set()
        self._order = count()
        self._queued = 0
        self._taken = 0
        self._listeners: list[Callable[[], None]] = []

    @property
    def empty(self) -> bool:
        return not self._busy and (self._queued == 0 or self._exhausted)

    @property
    def queued(self) -> int:
        return self._queued

    @property
    def visiting(self) -> int:
        return len(self._busy)

    @property
    def _exhausted(self) -> bool:
        limit: int | None = self.config.max_pages
        return limit is not None and self._taken >= limit

    def add(self, found: Discovered) -> None:
        site = found.url.site
        queue = self._queues.get(site)
        if queue is None:
            queue = self._queues[site] = deque()
            self._ready.append(site)
        visit = Visit(found.url, found.depth, found.source, found.redirects)
        if found.redirects:
            queue.appendleft(visit)
        else:
            queue.append(visit)
        self._queued += 1
        self._tell()

    def take(self, now_s: float) -> Visit | None:
        while self._waiting and self._waiting[0][0] <= now_s:
            site = heapq.heappop(self._waiting)[2]
            if self._queues[site]:
                self._ready.append(site)
            else:
                del self._queues[site]
        if not self._ready or self._exhausted:
            return None
        site = self._ready.popleft()
        self._busy.add(site)
        self._queued -= 1
        self._taken += 1
        return self._queues[site].popleft()

    def due_s(self) -> float | None:
        return self._waiting[0][0] if self._waiting and not self._exhausted else None

    def finish(self, visit: Visit, now_s: float) -> None:
        site = visit.url.site
        self._busy.remove(site)
        # A host without URLs is kept too until its delay is over, so that its next URL does not come too soon.
        heapq.heappush(self._waiting, (now_s + self.config.delay_s, next(self._order), site))
        self._tell()

    def listen(self, changed: Callable[[], None]) -> None:
        self._listeners.append(changed)

    def _tell(self) -> None:
        for changed in self._listeners:
            changed()
