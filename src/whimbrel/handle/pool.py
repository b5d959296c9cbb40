"""Workers with pages, on an event loop."""

import asyncio
import os
import signal
import socket
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from whimbrel.handle.message import LEAVING, LENGTH, Made, Task, decode_made, encode
from whimbrel.handle.nursery import Nursery

Done = Callable[[Made], None]

_BATCH: Final = 8
_BATCH_BYTES: Final = 1_000_000
"""Pages that a worker gets at once: it need not wait for the loop after each."""
_SPAWN_AGAIN_S: Final = 0.2
_SAID: Final = {
    "timeout": "not done within {limit_s:g} s",
    "died": "the process that ran it died: it was killed, crashed, or used too much memory",
}


class Pool:
    """`submit` from the event loop's thread; `done` is called there, once for each task, whatever becomes of it."""

    def __init__(self, nursery: Nursery, processes: int, time_limit_s: float, batch: int = _BATCH) -> None:
        self._nursery = nursery
        self._processes = processes
        self._time_limit_s = time_limit_s
        self._most = batch
        self._waiting: deque[tuple[Task, Done]] = deque()
        self._some = asyncio.Event()
        self._keepers: list[asyncio.Task[None]] = []
        self.replaced = 0
        """Workers that had to be."""

    @property
    def capacity(self) -> int:
        """As many tasks keep all workers busy."""
        return self._processes * 2 * self._most

    def open(self) -> None:
        self._keepers = [asyncio.create_task(self._keep()) for _ in range(self._processes)]

    async def close(self) -> None:
        for keeper in self._keepers:
            keeper.cancel()
        await asyncio.gather(*self._keepers, return_exceptions=True)

    def submit(self, task: Task, done: Done) -> None:
        self._waiting.append((task, done))
        self._some.set()

    async def _keep(self) -> None:
        """One worker after the other, for as long as the pool lives."""
        while True:
            try:
                worker = await asyncio.to_thread(_Worker.of, self._nursery)
            except OSError:
                await asyncio.sleep(_SPAWN_AGAIN_S)
                continue
            try:
                await self._employ(worker)
            finally:
                worker.end()
            self.replaced += 1

    async def _employ(self, worker: "_Worker") -> None:
        """Until it fails."""
        await worker.connect()
        while True:
            batch = await self._batch()
            try:
                worker.send([task for task, _ in batch])
                while batch:
                    made = await worker.made(self._time_limit_s)
                    # Out before the callback: it must not be called twice.
                    _, done = batch.popleft()
                    done(made)
            except _Failed as failed:
                self._blame(batch, failed.outcome)
                return
            except asyncio.CancelledError:
                self._waiting.extendleft(reversed(batch))
                raise

    async def _batch(self) -> "deque[tuple[Task, Done]]":
        while not self._waiting:
            self._some.clear()
            await self._some.wait()
        batch = deque([self._waiting.popleft()])
        size = len(batch[0][0].raw.payload)
        fair = -(-len(self._waiting) // self._processes)
        while self._waiting and len(batch) < min(self._most, 1 + fair) and size < _BATCH_BYTES:
            batch.append(self._waiting.popleft())
            size += len(batch[-1][0].raw.payload)
        return batch

    def _blame(self, batch: "deque[tuple[Task, Done]]", outcome: str) -> None:
        """The page that the worker had is to blame, unless it left in good order; the others get another worker."""
        if batch and outcome in _SAID:
            task, done = batch.popleft()
            said = _SAID[outcome].format(limit_s=self._time_limit_s)
            done(Made(error=said, outcome=outcome, refused=list(task.links)))
        self._waiting.extendleft(reversed(batch))
        self._some.set()


class _Failed(Exception):
    """A worker can do no more: `timeout`, `died`, or `leaving`, which is no failure."""

    def __init__(self, outcome: str) -> None:
        super().__init__(outcome)
        self.outcome = outcome


class _Worker:
    def __init__(self, process: int, connection: socket.socket) -> None:
        self._process = os.pidfd_open(process)
        """Not its number, which may be another's when it is used."""
        self._socket = connection
        self._writer: asyncio.StreamWriter | None = None

    @classmethod
    def of(cls, nursery: Nursery) -> "_Worker":
        return cls(*nursery.worker())

    async def connect(self) -> None:
        self._socket.settimeout(0)
        self._reader, self._writer = await asyncio.open_connection(sock=self._socket, limit=1 << 20)

    def send(self, tasks: list[Task]) -> None:
        if self._writer is not None:
            self._writer.write(encode(tasks))

    async def made(self, time_limit_s: float) -> Made:
        try:
            async with asyncio.timeout(time_limit_s):
                head = await self._reader.readexactly(LENGTH.size)
                made = decode_made(await self._reader.readexactly(LENGTH.unpack(head)[0]))
        except TimeoutError:
            raise _Failed("timeout") from None
        except (asyncio.IncompleteReadError, OSError):
            raise _Failed("died") from None
        if made.outcome == LEAVING:
            raise _Failed(LEAVING)
        return made

    def end(self) -> None:
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._process, signal.SIGKILL)
        os.close(self._process)
        if self._writer is not None:
            self._writer.close()
        else:
            self._socket.close()
