"""Listens for the control interface. The server is loaded at the first connection: a crawl that nobody watches pays
nothing."""

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any

from whimbrel.control.address import publish, withdraw
from whimbrel.control.api import ControlError
from whimbrel.control.history import History
from whimbrel.control.status import status
from whimbrel.job.live_crawl import LiveCrawl

if TYPE_CHECKING:
    import uvicorn

_SAMPLE_S = 1.0
_GOODBYE_S = 2.0
_HEALTH_S = 5
_LASTING = 3
_TOLD_ANYWAY = ("disk-full", "all-hosts-wait", "processor-bound")
"""The first has its own message; the others are how a crawl should be, and stand in the line of numbers."""


@asynccontextmanager
async def serve_control(running: LiveCrawl) -> AsyncIterator[None]:
    """Serve the control interface while a crawl runs, and record its history. The option `control` says where."""
    where = running.given.options.control
    history = History()
    sampling = asyncio.create_task(_sample(running, history))
    try:
        if where == "off":
            yield
            return
        async with Listener(running, history, where):
            yield
    finally:
        sampling.cancel()


async def _sample(running: LiveCrawl, history: History) -> None:
    """Once a second: a line of the history and, when it is time, a look at the crawl's health."""
    notifier = WarningNotifier(running)
    while True:
        await asyncio.sleep(_SAMPLE_S)
        progress = running.progress()
        if progress is not None:
            history.add(progress, running.effects.counting.latency.take())
            notifier.check()


class WarningNotifier:
    """Tells of a warning when it has lasted for a while, and not again while it lasts."""

    def __init__(self, running: LiveCrawl) -> None:
        self._running = running
        self._seen: dict[str, int] = {}
        self._count = 0

    def check(self) -> None:
        self._count += 1
        if self._count % _HEALTH_S:
            return
        found = {warning.code: warning for warning in status(self._running).warnings}
        self._seen = {code: self._seen.get(code, 0) + 1 for code in found}
        for code, times in self._seen.items():
            if times == _LASTING and code not in _TOLD_ANYWAY:
                warning = found[code]
                self._running.say(f"warning: {warning.cause}. Remedy: {warning.remedy}")


class Listener:
    def __init__(self, running: LiveCrawl, history: History, where: str) -> None:
        self._running = running
        self._history = history
        self._loop = asyncio.get_running_loop()
        self._socket = _listening(where)
        host, port = self._socket.getsockname()[:2]
        url = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
        self._address = publish(running.directory, url)
        self._server: uvicorn.Server | None = None
        self._answering: asyncio.Task[None] | None = None

    async def __aenter__(self) -> None:
        self._loop.add_reader(self._socket.fileno(), self._connected)

    async def __aexit__(self, *_: object) -> None:
        withdraw(self._running.directory, self._address)
        self._loop.remove_reader(self._socket.fileno())
        if self._server is not None:
            self._server.should_exit = True
        if self._answering is not None:
            await asyncio.wait([self._answering], timeout=_GOODBYE_S)
            self._answering.cancel()
        self._socket.close()

    def _connected(self) -> None:
        self._loop.remove_reader(self._socket.fileno())
        self._answering = self._loop.create_task(self._answer())

    async def _answer(self) -> None:
        try:
            self._server = await asyncio.to_thread(self._make)
            await self._server.serve(sockets=[self._socket])
        except Exception as error:  # noqa: BLE001 - the crawl goes on without
            self._running.say(f"the control interface failed: {type(error).__name__}: {error}")

    def _make(self) -> "uvicorn.Server":
        import uvicorn

        from whimbrel.control.connection import MOST_CONNECTIONS, ControlProtocol
        from whimbrel.control.server import application

        class ControlServer(uvicorn.Server):
            @contextmanager
            def capture_signals(self) -> Iterator[None]:
                """Signals are the crawl's."""
                yield

        app: Any = application(self._running, self._history, self._address)
        config = uvicorn.Config(
            app,
            loop="none",
            http=ControlProtocol,
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            date_header=False,
            limit_concurrency=MOST_CONNECTIONS + 1,
            timeout_keep_alive=5,
            timeout_graceful_shutdown=1,
        )
        return ControlServer(config)


def _listening(where: str) -> socket.socket:
    host, _, port = where.rpartition(":")
    host = host.strip("[]")
    found = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((host, int(port)))
        found.listen(128)
    except OSError as error:
        found.close()
        raise ControlError(f"cannot listen at {where}: {error.strerror}; choose another with --control") from error
    found.setblocking(False)  # noqa: FBT003
    return found
