"""One worker, as the pool sees it: requests go out, replies come in, and the time is watched."""

import asyncio
import os
import signal
import socket
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Final, Literal, Protocol, cast

import msgspec

from whimbrel.worker.api import WorkerReply
from whimbrel.worker.wire import HEAD, LAST_REPLY, READY, REPLY, REQUEST

Done = Callable[[WorkerReply], None]
WorkerEnd = Literal["timeout", "died", "left"]
"""Why a worker serves no more: `left` is in good order."""

_CLOSED_S: Final = 1.0
"""An aborted connection is closed with the next turn of the loop."""


class PendingRequest(msgspec.Struct, frozen=True, gc=False):
    """What was submitted, and has no reply yet."""

    body: bytes
    done: Done
    is_second_try: bool = False
    """A worker has died of it, or while it had it."""


def give(request: PendingRequest, reply: WorkerReply) -> None:
    """An exception here is the caller's mistake, and no other request's trouble."""
    try:
        request.done(reply)
    except Exception as error:  # noqa: BLE001
        context = {"message": "a reply of a worker could not be taken", "exception": error}
        asyncio.get_running_loop().call_exception_handler(context)


class WorkerOwner(Protocol):
    """What a connection tells the pool."""

    def became_idle(self, worker: "WorkerConnection") -> None:
        """It is ready, and all that it was sent is done."""
        ...

    def ended(self, worker: "WorkerConnection", end: WorkerEnd) -> None:
        """It serves no more; `worker.assigned` is what it leaves, the one it was serving first."""
        ...


class WorkerConnection(asyncio.Protocol):
    """Owns the worker's process and socket: `close` ends both."""

    def __init__(
        self, owner: WorkerOwner, process: int, connection: socket.socket, time_limit_s: float, max_reply_bytes: int
    ) -> None:
        self._owner = owner
        self._process = process
        """A descriptor."""
        self._socket = connection
        self._time_limit_s = time_limit_s
        self._max_reply_bytes = max_reply_bytes
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._closed: asyncio.Future[None] = self._loop.create_future()
        self._unread = bytearray()
        self._received = 0
        self._timer: asyncio.TimerHandle | None = None
        self._deadline_s = 0.0
        self._number = 0
        """Of the request that it serves now, counted from 1; 0 until it is ready."""
        self._sent = 0
        self.assigned: deque[PendingRequest] = deque()
        self.fruitful = False
        """Whether any request has had a reply because of it, good or bad."""
        self.end: asyncio.Future[WorkerEnd] = self._loop.create_future()

    @property
    def is_ready(self) -> bool:
        return self._number > 0

    async def connect(self) -> None:
        self._socket.settimeout(0)
        await self._loop.create_connection(lambda: self, sock=self._socket)
        # The socket may stay open after the process: in a child that a request has forked.
        self._loop.add_reader(self._process, self._process_ended)
        self._watch()

    def send(self, requests: deque[PendingRequest]) -> None:
        """Only while it is idle."""
        self.assigned = requests
        parts: list[bytes] = []
        for request in requests:
            self._sent += 1
            parts += (HEAD.pack(REQUEST, self._sent, len(request.body)), request.body)
        if self._transport is not None:
            self._transport.writelines(parts)
        self._watch()

    async def close(self) -> None:
        """Kill the process, whatever it is doing, and wait until the socket is closed."""
        self._finish("died")
        self._loop.remove_reader(self._process)
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._process, signal.SIGKILL)
        os.close(self._process)
        if self._transport is None:
            self._socket.close()
            return
        self._transport.abort()
        # uvloop never says that a connection is lost if it was given up while it was being made.
        await asyncio.wait([self._closed], timeout=_CLOSED_S)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # No isinstance: the transports of uvloop have no base class.
        self._transport = cast("asyncio.Transport", transport)

    def connection_lost(self, error: Exception | None) -> None:  # noqa: ARG002
        self._finish("died")
        if not self._closed.done():
            self._closed.set_result(None)

    def _process_ended(self) -> None:
        self._loop.remove_reader(self._process)
        self._finish_when_read(-1)

    def _finish_when_read(self, received: int) -> None:
        """After the last that it sent, which may take several turns of the loop."""
        if received == self._received:
            self._finish("died")
        elif not self.end.done():
            self._loop.call_later(0, self._finish_when_read, self._received)

    def data_received(self, data: bytes) -> None:
        self._received += len(data)
        if self._unread:
            self._unread += data
            rest = self._take_frames(self._unread)
            del self._unread[:rest]
        else:
            rest = self._take_frames(data)
            self._unread += data[rest:]

    def _take_frames(self, data: bytes | bytearray) -> int:
        """Returns where the first incomplete frame begins."""
        at, size = 0, len(data)
        while size - at >= HEAD.size and not self.end.done():
            kind, number, length = HEAD.unpack_from(data, at)
            if not self._is_expected(kind, number, length):
                self._finish("died")
                break
            body, after = at + HEAD.size, at + HEAD.size + length
            if after > size:
                break
            at = after
            self._take(kind, bytes(memoryview(data)[body:after]))
        return at

    def _is_expected(self, kind: int, number: int, length: int) -> bool:
        if self._number == 0:
            return kind == READY and number == length == 0
        return bool(
            self.assigned and kind in (REPLY, LAST_REPLY) and number == self._number and length <= self._max_reply_bytes
        )

    def _take(self, kind: int, body: bytes) -> None:
        self._number += 1
        if kind != READY:
            self.fruitful = True
            self._deadline_s = self._loop.time() + self._time_limit_s
            # Out before the callback: it must not be called twice.
            give(self.assigned.popleft(), WorkerReply("ok", body))
        if kind == LAST_REPLY:
            self._finish("left")
        elif not self.assigned:
            self._owner.became_idle(self)

    def _finish(self, end: WorkerEnd) -> None:
        if self.end.done():
            return
        self.end.set_result(end)
        if self._timer is not None:
            self._timer.cancel()
        self._owner.ended(self, end)

    def _watch(self) -> None:
        self._deadline_s = self._loop.time() + self._time_limit_s
        if self._timer is None:
            self._timer = self._loop.call_later(self._time_limit_s, self._look_at_the_time)

    def _look_at_the_time(self, *, again: bool = False) -> None:
        """The timer is set once for many replies, and moved when it rings too early."""
        self._timer = None
        if self.end.done() or not (self.assigned or self._number == 0):
            return
        left_s = self._deadline_s - self._loop.time()
        if left_s > 0:
            self._timer = self._loop.call_later(left_s, self._look_at_the_time)
        elif not again:
            # Perhaps the loop itself was late, and the reply is there: it is read before this is called again.
            self._timer = self._loop.call_later(0, self._look_once_more)
        else:
            self._finish("timeout")

    def _look_once_more(self) -> None:
        self._look_at_the_time(again=True)
