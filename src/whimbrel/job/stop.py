"""How a running crawl is asked to stop, from any thread: once to end in good order, twice to end now."""

import asyncio
from collections.abc import Callable
from threading import Lock

from whimbrel.flow import Job


class StopRequest:
    """The first request lets the visits under way end; the second ends them, too, whatever the crawl is doing."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._asked = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._job: Job | None = None
        self._say: Callable[[str], None] = print

    def ask(self) -> None:
        """Before the crawl has begun it is remembered, after its end it means nothing."""
        with self._lock:
            self._asked += 1
            if self._loop is not None:
                self._loop.call_soon_threadsafe(self._act, self._asked)

    def attach(self, job: Job, say: Callable[[str], None]) -> None:
        """The job runs on this loop. What was asked before counts from now on."""
        with self._lock:
            self._loop, self._job, self._say = asyncio.get_running_loop(), job, say
            for number in range(1, self._asked + 1):
                self._loop.call_soon(self._act, number)

    def detach(self) -> None:
        with self._lock:
            self._loop = self._job = None

    def _act(self, number: int) -> None:
        job = self._job
        if job is None:
            return
        if number == 1 and job.state != "draining":
            self._say("stopping: waiting for the visits under way; interrupt again to end now")
            job.stop()
        else:
            job.abort("interrupted twice")
