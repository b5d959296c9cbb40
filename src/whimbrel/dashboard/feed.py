"""Asks the source once a second for all who look on."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TypeVar

from whimbrel.commit.committed import NotACrawl
from whimbrel.dashboard.source import CrawlSource, Moment

_EVERY_S = 1.0
_THREADS = 16
_T = TypeVar("_T")
_SLOWLY_S = 10.0
"""When nobody looks on, or nothing runs."""


class MomentFeed:
    """`now` is None until there is something to see."""

    def __init__(self, source: CrawlSource) -> None:
        self.source = source
        self.now: Moment | None = None
        self.before: Moment | None = None
        """The one a second earlier: rates are differences."""
        self._viewers = 0
        # Apart from those that questions in SQL take: half a minute of them must not keep an action waiting.
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="control")
        self._woken = asyncio.Event()

    def arrived(self) -> None:
        """Somebody looks on."""
        self._viewers += 1
        self._woken.set()

    def left(self) -> None:
        self._viewers -= 1

    async def run(self) -> None:
        while True:
            with suppress(NotACrawl):
                await self.look()
            slowly = self.now is not None and not (self._viewers and self.now.live)
            self._woken.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(_SLOWLY_S if slowly else _EVERY_S):
                    await self._woken.wait()

    async def call(self, control: Callable[..., _T], *arguments: object) -> _T:
        """Have the crawl asked or steered, which takes its time."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, control, *arguments)

    async def look(self) -> Moment:
        found = await self.call(self.source.moment)
        self.before, self.now = self.now, found
        return found
