"""Workers with requests, on an event loop."""

import asyncio
import os
import socket
from collections import deque
from contextlib import suppress
from typing import Final

from whimbrel.worker.api import WorkerReply
from whimbrel.worker.connection import Done, PendingRequest, WorkerConnection, WorkerEnd, give
from whimbrel.worker.fork_server import ForkServer, ForkServerLost

_BATCH: Final = 8
_BATCH_BYTES: Final = 1_000_000
"""Requests that a worker gets at once: it need not wait for the loop after each."""
_MAX_REPLY_BYTES: Final = 1 << 30
_SPAWN_AGAIN_S: Final = 0.2
_MOST_FAILURES: Final = 25
"""Workers in a row that could not be made, or died before they were of use: then it is given up."""
_DIED: Final = "the process that ran it died: it was killed, crashed, or used too much memory"


class WorkerPool:
    """A `Pool` whose workers come from a fork server. The server must outlive it."""

    def __init__(
        self,
        server: ForkServer,
        processes: int = 1,
        time_limit_s: float = 10.0,
        batch: int = _BATCH,
        max_reply_bytes: int = _MAX_REPLY_BYTES,
    ) -> None:
        self._server = server
        self._processes = processes
        self._time_limit_s = time_limit_s
        self._batch = batch
        self._max_reply_bytes = max_reply_bytes
        self._waiting: deque[PendingRequest] = deque()
        self._idle: deque[WorkerConnection] = deque()
        self._keepers: list[asyncio.Task[None]] = []
        self._working: set[WorkerConnection] = set()
        self._failures = 0
        self._lost = ""
        """Why there will be no more replies; empty while there will."""
        self._is_dispatch_due = False

    @property
    def capacity(self) -> int:
        return self._processes * 2 * self._batch

    def open(self) -> None:
        self._keepers = [asyncio.create_task(self._keep()) for _ in range(self._processes)]

    async def close(self) -> None:
        self._give_up("the pool was closed")
        for keeper in self._keepers:
            keeper.cancel()
        await asyncio.gather(*self._keepers, return_exceptions=True)

    def submit(self, request: bytes, done: Done) -> None:
        self._waiting.append(PendingRequest(request, done))
        if not self._is_dispatch_due:
            # Later: requests that are submitted one after the other become one batch.
            self._is_dispatch_due = True
            asyncio.get_running_loop().call_soon(self._dispatch)

    def became_idle(self, worker: WorkerConnection) -> None:
        if self._waiting:
            worker.send(self._next_batch())
        else:
            self._idle.append(worker)

    def ended(self, worker: WorkerConnection, end: WorkerEnd) -> None:
        """The request that the worker was serving is to blame, unless it left in good order or died with its parent;
        the others get another worker. A worker may also die of what this machine lacks, or be killed: so the request
        that it died of gets another one, too, but only once."""
        with suppress(ValueError):
            self._idle.remove(worker)
        left, worker.assigned = worker.assigned, deque()
        if not self._lost and not self._server.alive:
            self._waiting.extendleft(reversed(left))
            self._give_up(str(ForkServerLost()))
            return
        blamed = left.popleft() if left and end != "left" else None
        self._waiting.extendleft(reversed(left))
        if blamed is not None:
            worker.fruitful = True
        if blamed is not None and end == "died" and not blamed.is_second_try:
            self._waiting.appendleft(PendingRequest(blamed.body, blamed.done, is_second_try=True))
        elif blamed is not None:
            said = f"not done within {self._time_limit_s:g} s" if end == "timeout" else _DIED
            give(blamed, WorkerReply("timeout" if end == "timeout" else "died", error=said))
        self._dispatch()

    def _dispatch(self) -> None:
        self._is_dispatch_due = False
        if self._lost:
            self._lose_all()
        while self._idle and self._waiting:
            self._idle.popleft().send(self._next_batch())

    def _next_batch(self) -> deque[PendingRequest]:
        """A second try has its worker to itself: if that dies, too, there is no doubt."""
        batch = deque([self._waiting.popleft()])
        if batch[0].is_second_try:
            return batch
        size = len(batch[0].body)
        most = min(self._batch, 1 - (-len(self._waiting) // self._processes))
        while self._waiting and len(batch) < most and size < _BATCH_BYTES:
            batch.append(self._waiting.popleft())
            size += len(batch[-1].body)
        return batch

    async def _keep(self) -> None:
        """One worker after the other, for as long as there can be any."""
        while not self._lost:
            reason = "they die before they are of use"
            try:
                if await self._employ():
                    self._failures = 0
                    continue
            except ForkServerLost as error:
                self._give_up(str(error))
                return
            except (OSError, MemoryError) as error:
                # Without this task there would be no workers.
                reason = str(error) or "this machine has no memory left"
            self._failures += 1
            if self._failures >= _MOST_FAILURES and not any(worker.is_ready for worker in self._working):
                self._give_up(f"there can be no workers: {reason}")
            await asyncio.sleep(_SPAWN_AGAIN_S)

    async def _employ(self) -> bool:
        """One worker until it ends; False if it was of no use."""
        process, connection = await self._spawn()
        worker = WorkerConnection(self, process, connection, self._time_limit_s, self._max_reply_bytes)
        self._working.add(worker)
        try:
            await worker.connect()
            await asyncio.wait([worker.end])
        finally:
            self._working.discard(worker)
            await worker.close()
        return worker.fruitful

    async def _spawn(self) -> tuple[int, socket.socket]:
        spawned = asyncio.ensure_future(asyncio.to_thread(self._server.spawn))
        try:
            return await asyncio.shield(spawned)
        except asyncio.CancelledError:
            # A thread cannot be stopped, and what it makes must not be left behind.
            with suppress(OSError, ForkServerLost):
                process, connection = await spawned
                os.close(process)
                connection.close()
            raise

    def _give_up(self, reason: str) -> None:
        self._lost = self._lost or reason
        for worker in self._working:
            self._waiting.extend(worker.assigned)
            worker.assigned = deque()
        self._lose_all()

    def _lose_all(self) -> None:
        lost, self._waiting = self._waiting, deque()
        for request in lost:
            give(request, WorkerReply("lost", error=self._lost))
