"""What the tests of fetching share: a transport that may go to loopback, and servers that say what they are told."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import uvloop

from whimbrel.clock import SystemClock
from whimbrel.fetch.api import Exchange, Response
from whimbrel.fetch.curl import CurlTransport
from whimbrel.fetch.curl_option import CurlConfig
from whimbrel.url import Url, parse
from whimbrel.visit import Request

T = TypeVar("T")
LOOPBACK = ("127.0.0.0/8",)
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

Answer = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def run(scene: Coroutine[Any, Any, T], *, plain: bool = False) -> T:
    """On uvloop as in production, or on asyncio's own loop."""
    with asyncio.Runner(loop_factory=None if plain else uvloop.new_event_loop) as runner:
        return runner.run(scene)


@asynccontextmanager
async def transport(**options: Any) -> AsyncIterator[CurlTransport]:
    made = CurlTransport(CurlConfig(**{"allow_networks": LOOPBACK, **options}))
    made.bind("clock", SystemClock())
    await made.open()
    try:
        yield made
    finally:
        await made.close()


@asynccontextmanager
async def raw(answer: Answer) -> AsyncIterator[int]:
    """A server on a free port of 127.0.0.1 that treats each connection as `answer` does."""
    connections: set[asyncio.Task[None]] = set()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        connections.add(task)
        try:
            await answer(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # The client has gone, or the test is over.
        finally:
            connections.discard(task)
            writer.close()

    server = await asyncio.start_server(connected, "127.0.0.1", 0, backlog=4096)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for task in tuple(connections):
            task.cancel()
        await asyncio.gather(*connections, return_exceptions=True)


def sending(*pieces: bytes) -> Answer:
    """Reads a request, sends the pieces, closes."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        for piece in pieces:
            writer.write(piece)
            await writer.drain()

    return answer


def url(text: str) -> Url:
    found = parse(text)
    assert found is not None, text
    return found


def request(text: str) -> Request:
    """A plain one."""
    return Request(url(text))


def response(exchange: Exchange) -> Response:
    assert exchange.response is not None, exchange.trouble
    assert exchange.trouble == ""
    assert exchange.connected
    return exchange.response


async def ask(port: int, target: str = "/", **options: Any) -> Exchange:
    """One exchange with a server on 127.0.0.1, by a transport of its own."""
    async with transport(**options) as made:
        return await made.fetch(request(f"http://a.test:{port}{target}"), "127.0.0.1")
