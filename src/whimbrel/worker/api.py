"""The contract of a worker pool."""

from collections.abc import Callable
from typing import Literal, Protocol

import msgspec

Serve = Callable[[bytes], bytes]
"""Runs in a worker, for one request after the other. An exception that it raises ends the worker: `died`."""

MakeServe = Callable[[], Serve]
"""Called once in each worker, before its first request."""

WorkerOutcome = Literal["ok", "timeout", "died", "lost"]


class LastReply(bytes):
    """What `Serve` returns when its worker is to be replaced after this reply, for example when memory ran out."""


class WorkerReply(msgspec.Struct, frozen=True, gc=False):
    """What became of one request.

    - `ok`: it was served, and `body` is what `Serve` returned.
    - `timeout`: it was not served within the time limit. Its worker was killed.
    - `died`: two workers ended while serving it, one after the other: they crashed, were killed, raised, ran out of
      memory, replied with too many bytes, or wrote what is no reply. The first may have met a trouble of this machine.
    - `lost`: nothing is known about it, and it is not to blame: the pool was closed, or can make no workers any more.
      It may have been served or not. All later requests are lost, too.
    """

    outcome: WorkerOutcome
    body: bytes = b""
    """Empty unless `ok`."""
    error: str = ""
    """A sentence that says what happened; empty if `ok`."""


class Pool(Protocol):
    """Serves requests in other processes.

    Promised: `done` is called exactly once for each `submit`, on the event loop, never within `submit` itself. A
    request is served once, or once more when its worker died. One that is too slow, too large or deadly costs no other
    request its reply, and neither the pool nor the program anything but two workers. After `close` no process and no
    descriptor is left.

    Not promised: any order of the replies. Nor that a request is safe from what an earlier one left running in the same
    worker, such as a thread that ends the process later.
    """

    @property
    def capacity(self) -> int:
        """As many requests at a time keep all workers busy. More may be submitted; they wait, without a bound."""
        ...

    def open(self) -> None:
        """Start workers, on the running event loop."""
        ...

    async def close(self) -> None:
        """End all workers. Requests that have no reply yet are `lost`, before this returns."""
        ...

    def submit(self, request: bytes, done: Callable[[WorkerReply], None]) -> None:
        """To be called from the event loop's thread. `done` must not raise."""
        ...
