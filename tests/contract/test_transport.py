"""What every transport promises, on real sockets: one request per call, sent as it was asked for, and one answer."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import msgspec
import pytest

from tests.fetch.rig import Answer, raw, response, run, transport, url
from whimbrel.fetch.api import Exchange, Transport
from whimbrel.fetch.transports import Transports
from whimbrel.visit import Request

Made = Callable[..., AbstractAsyncContextManager[Transport]]


@asynccontextmanager
async def by_scheme(**options: Any) -> AsyncIterator[Transport]:
    async with transport(**options) as web:
        table = Transports(None)
        table.bind("web", web)
        yield table


@pytest.fixture(params=[transport, by_scheme], ids=["curl-transport", "scheme-transports"])
def made(request: pytest.FixtureRequest) -> Made:
    found: Made = request.param
    return found


class Seen(msgspec.Struct):
    head: bytes
    body: bytes


def echo(seen: list[Seen]) -> Answer:
    """A server that keeps each request, and answers all on one connection."""

    async def keep(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            lines = [line.lower() for line in head.split(b"\r\n")]
            length = next((int(line.split(b":")[1]) for line in lines if line.startswith(b"content-length")), 0)
            seen.append(Seen(head, await reader.readexactly(length)))
            body = b"" if head.startswith(b"HEAD") else b"ok"
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n" + body)

    return keep


def asked(port: int, target: str, **details: Any) -> Request:
    return Request(url(f"http://a.test:{port}{target}"), **details)


DETAILS: tuple[dict[str, Any], ...] = (
    {"headers": (("If-None-Match", '"x"'), ("accept", "image/png"))},
    {"method": "POST", "body": b"a=1&b=2"},
    {"method": "POST"},
    {"method": "PUT", "body": b"\0\r\n\r\nGET /", "headers": (("Content-Type", "text/plain"),)},
    {"method": "DELETE"},
    {"method": "HEAD"},
)


def test_method_headers_and_body_are_sent_and_on_record(made: Made) -> None:
    async def scene() -> None:
        seen: list[Seen] = []
        async with raw(echo(seen)) as port, made(user_agent="agent/1") as one:
            for details in DETAILS:
                exchange = await one.fetch(asked(port, "/x", **details), "127.0.0.1")
                assert response(exchange).status == 200
                assert exchange.request_head + b"\r\n" == seen[-1].head
                assert seen[-1].body == details.get("body", b"")
                assert seen[-1].head.startswith(details.get("method", "GET").encode() + b" /x HTTP/1.1\r\n")
            assert b"\r\nAccept: image/png\r\n" in seen[0].head
            assert b'\r\nIf-None-Match: "x"\r\n' in seen[0].head
            assert b"\r\nContent-Type: application/x-www-form-urlencoded\r\n" in seen[1].head
            assert b"\r\nContent-Type: text/plain\r\n" in seen[3].head
            assert len(seen) == len(DETAILS)

    run(scene())


def test_nothing_of_one_request_is_left_in_the_next(made: Made) -> None:
    async def scene() -> None:
        seen: list[Seen] = []
        async with raw(echo(seen)) as port, made() as one:
            plain = await one.fetch(asked(port, "/"), "127.0.0.1")
            for details in DETAILS:
                await one.fetch(asked(port, "/", **details), "127.0.0.1")
                again = await one.fetch(asked(port, "/"), "127.0.0.1")
                assert seen[-1] == seen[0]
                assert again.request_head == plain.request_head
                assert response(again).document.read() == b"ok"

    run(scene())


@pytest.mark.parametrize(
    ("name", "value"), [("X", "a\r\nY: b"), ("X\nY", "b"), ("Host", "b.test"), ("content-length", "9")]
)
def test_a_header_that_would_change_the_request_is_refused(made: Made, name: str, value: str) -> None:
    async def scene() -> None:
        seen: list[Seen] = []
        async with raw(echo(seen)) as port, made() as one:
            with pytest.raises(ValueError, match="cannot be sent"):
                await one.fetch(asked(port, "/", headers=((name, value),)), "127.0.0.1")
            assert response(await one.fetch(asked(port, "/"), "127.0.0.1")).status == 200
            assert len(seen) == 1

    run(scene())


def test_done_is_called_once_and_later_whatever_becomes_of_it(made: Made) -> None:
    async def scene() -> None:
        async with raw(echo([])) as port, made() as one:
            exchanges: list[Exchange] = []
            ended = asyncio.Event()

            def land(exchange: Exchange) -> None:
                exchanges.append(exchange)
                if len(exchanges) == 3:
                    ended.set()

            one.begin(asked(port, "/"), "127.0.0.1", land)
            one.begin(asked(1, "/"), "127.0.0.1", land)
            one.begin(asked(port, "/"), "10.0.0.1", land)
            assert exchanges == []
            async with asyncio.timeout(10):
                await ended.wait()
            assert sorted(one.trouble for one in exchanges) == ["", "private-address", "refused"]

    run(scene())


def test_a_redirect_is_an_answer_and_is_not_followed(made: Made) -> None:
    async def scene() -> None:
        async def redirect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 302 Found\r\nLocation: /next\r\nContent-Length: 0\r\n\r\n")

        async with raw(redirect) as port, made() as one:
            assert response(await one.fetch(asked(port, "/"), "127.0.0.1")).status == 302

    run(scene())
