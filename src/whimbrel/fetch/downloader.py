"""Keeps many visits under way at once."""

import asyncio

from whimbrel.clock import Clock
from whimbrel.fetch.api import Fetched, Response, Transport
from whimbrel.flow import Async, Config, Delivery, In, Needs, Out
from whimbrel.frontier.api import Visit


class DownloaderConfig(Config, frozen=True):
    connections: int = 32
    """Visits under way at once."""


class Downloader(Async):
    Config = DownloaderConfig
    visits = In(Visit)
    fetched = Out(Fetched)
    transport = Needs(Transport)
    clock = Needs(Clock)

    def __init__(self, config: DownloaderConfig) -> None:
        super().__init__(config)
        self._slots = asyncio.Semaphore(config.connections)

    async def run(self) -> None:
        async with asyncio.TaskGroup() as visits:
            while True:
                await self._slots.acquire()
                delivery = await self.visits.get()
                if delivery is None:
                    return
                visits.create_task(self._visit(delivery))

    async def _visit(self, delivery: Delivery[Visit]) -> None:
        try:
            started, began = self.clock.wall_s(), self.clock.now_s()
            answer = await self.transport.fetch(delivery.item.url)
            elapsed = self.clock.now_s() - began
            response = answer if isinstance(answer, Response) else None
            trouble = answer if isinstance(answer, str) else ""
            await self.fetched.put(Fetched(delivery.item, response, trouble, started, elapsed))
            delivery.done()
        finally:
            self._slots.release()
