"""A server on loopback that answers each connection with the input, and the transport that asks it."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager
from typing import Any

import uvloop

from tests.fuzz.api import Read
from whimbrel.fetch.api import Exchange
from whimbrel.fetch.curl import CurlTransport
from whimbrel.visit import Request


class Server:
    """Sends `answer` and closes; keeps the requests."""

    def __init__(self) -> None:
        self.answer = b""
        self.requests: list[bytes] = []
        self.port = 0

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[None]:
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: _Connection(self), "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield
        finally:
            server.close()


class _Connection(asyncio.Protocol):
    def __init__(self, server: Server) -> None:
        self._server = server
        self._data = b""

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._data += data
        if self._data.endswith(b"\r\n\r\n"):
            self._server.requests.append(self._data)
            self._transport.write(self._server.answer)
            self._transport.close()


async def fetch(transport: CurlTransport, asked: Request) -> Exchange:
    """On a connection of its own: the server has closed the last one, and libcurl may not have noticed yet."""
    answer: asyncio.Future[Exchange] = asyncio.get_running_loop().create_future()
    transport.begin(asked, "127.0.0.1", answer.set_result, fresh=True)
    return await answer


def on_loop(scene: Callable[[], AbstractContextManager[Any] | Any]) -> Callable[[], AbstractContextManager[Read]]:
    """For a target that is a coroutine: `scene` is an asynchronous context manager of it. One loop reads all inputs."""

    @contextmanager
    def opened() -> Iterator[Read]:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            entered = scene()
            read: Callable[[bytes], Awaitable[None]] = runner.run(_enter(entered))
            try:
                yield lambda data: runner.run(_read(read, data))
            finally:
                runner.run(_leave(entered))

    return opened


async def _enter(entered: Any) -> Any:
    return await entered.__aenter__()


async def _leave(entered: Any) -> None:
    await entered.__aexit__(None, None, None)


async def _read(read: Callable[[bytes], Awaitable[None]], data: bytes) -> None:
    await read(data)
