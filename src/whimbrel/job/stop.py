"""How a running crawl is asked to stop, from any thread."""

import asyncio
from collections.abc import Callable
from threading import Lock


class StopRequest:
    """The first request lets the visits under way end; a second one ends them, too."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._asked = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._act: Callable[[], None] | None = None

    def ask(self) -> None:
        """Before the crawl has begun it is remembered, after its end it means nothing."""
        with self._lock:
            self._asked = True
            if self._loop is not None and self._act is not None:
                self._loop.call_soon_threadsafe(self._act)

    def attach(self, act: Callable[[], None]) -> None:
        """The crawl runs on this loop; `act` is called there."""
        with self._lock:
            self._loop, self._act = asyncio.get_running_loop(), act
            if self._asked:
                self._loop.call_soon(act)

    def detach(self) -> None:
        with self._lock:
            self._loop = self._act = None
