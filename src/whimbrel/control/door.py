"""Listens for callers. What answers them is loaded when the first one knocks: a crawl that nobody watches pays
nothing."""

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any

from whimbrel.control.address import publish, withdraw
from whimbrel.control.api import ControlError
from whimbrel.control.history import History
from whimbrel.job.running import Running

if TYPE_CHECKING:
    import uvicorn

_SAMPLE_S = 1.0
_GOODBYE_S = 2.0


@asynccontextmanager
async def attend(running: Running) -> AsyncIterator[None]:
    """Be there for callers while a crawl runs, and write its history down. The crawl's option `control` says where."""
    where = running.given.options.control
    history = History()
    sampling = asyncio.create_task(_sample(running, history))
    try:
        if where == "off":
            yield
            return
        async with _Door(running, history, where):
            yield
    finally:
        sampling.cancel()


async def _sample(running: Running, history: History) -> None:
    while True:
        await asyncio.sleep(_SAMPLE_S)
        progress = running.look()
        if progress is not None:
            history.add(progress, running.settlement.latency.take())


class _Door:
    def __init__(self, running: Running, history: History, where: str) -> None:
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
        self._loop.add_reader(self._socket.fileno(), self._knocked)

    async def __aexit__(self, *_: object) -> None:
        withdraw(self._running.directory, self._address)
        self._loop.remove_reader(self._socket.fileno())
        if self._server is not None:
            self._server.should_exit = True
        if self._answering is not None:
            await asyncio.wait([self._answering], timeout=_GOODBYE_S)
            self._answering.cancel()
        self._socket.close()

    def _knocked(self) -> None:
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

        from whimbrel.control.server import application

        class Server(uvicorn.Server):
            @contextmanager
            def capture_signals(self) -> Iterator[None]:
                """Signals are the crawl's."""
                yield

        app: Any = application(self._running, self._history, self._address)
        config = uvicorn.Config(
            app,
            loop="none",
            http="h11",
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            date_header=False,
            limit_concurrency=64,
            timeout_keep_alive=30,
            timeout_graceful_shutdown=1,
        )
        return Server(config)


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
