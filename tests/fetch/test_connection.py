"""Connections: kept, given up, never asked twice, many at once, and ended with the transport."""

import asyncio
import resource
import socket
import struct
from pathlib import Path
from typing import Any

import pytest

from tests.fetch.rig import OK, ask, raw, request, response, run, sending, transport, url
from tests.sim.web import Served
from whimbrel.fetch.api import Exchange
from whimbrel.simweb.server.control import ask as tell
from whimbrel.simweb.server.log import read_log
from whimbrel.visit import Request


def connections(web: Served, mark: str) -> list[int]:
    """The numbers of the connections on which targets with a mark were asked for."""
    tell(Path(web.running.control), {"do": "status"})
    return [line.connection for line in read_log(Path(web.running.log)) if mark in line.target]


@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize("http2", [False, True])
@pytest.mark.parametrize("plain", [False, True])
def test_a_connection_is_used_again_for_the_same_site_and_address(
    web: Served, scheme: str, http2: bool, plain: bool
) -> None:
    mark = f"?{scheme}{http2}{plain}"
    host = next(host for host in map(web.web.hosts.get, range(300)) if host.scheme == scheme)

    async def scene() -> None:
        async with transport(ca=web.running.ca, http2=http2) as made:
            for number in range(4):
                exchange = await made.fetch(request(f"{host.origin}/{mark}{number}"), host.addresses[0])
                assert response(exchange).http_version == ("2" if http2 and scheme == "https" else "1.1")

    run(scene(), plain=plain)
    assert len(connections(web, mark)) == 4
    assert len(set(connections(web, mark))) == 1


def test_a_visit_goes_to_its_own_address_although_a_connection_to_another_is_open(web: Served) -> None:
    host = next(host for host in map(web.web.hosts.get, range(300)) if host.scheme == "http")

    async def scene() -> None:
        async with transport() as made:
            for address in ("127.0.0.77", "127.0.0.78", "127.0.0.77"):
                response(await made.fetch(request(f"{host.origin}/?pinned"), address))

    run(scene())
    first, second, third = connections(web, "/?pinned")
    assert first == third != second


def test_a_connection_that_was_idle_for_too_long_is_not_used_again() -> None:
    async def scene() -> None:
        numbers: list[int] = []

        async def keep(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            number = len(set(numbers))
            while True:
                await reader.readuntil(b"\r\n\r\n")
                numbers.append(number)
                writer.write(OK)

        async with raw(keep) as port, transport(keep_s=1) as made:
            where = url(f"http://a.test:{port}/")
            response(await made.fetch(Request(where), "127.0.0.1"))
            response(await made.fetch(Request(where), "127.0.0.1"))
            await asyncio.sleep(2.2)  # libcurl counts whole seconds of its own clock
            response(await made.fetch(Request(where), "127.0.0.1"))
            assert numbers == [0, 0, 1]

    run(scene())


@pytest.mark.parametrize("how", ["close", "reset"])
def test_a_request_is_never_repeated_when_a_used_connection_dies(how: str) -> None:
    async def scene() -> None:
        requests = accepted = 0

        async def die_at_the_second(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            nonlocal requests, accepted
            accepted += 1
            for answer in (OK, b""):
                await reader.readuntil(b"\r\n\r\n")
                requests += 1
                writer.write(answer)
            if how == "reset":
                sock = writer.get_extra_info("socket")
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                writer.transport.abort()

        async with raw(die_at_the_second) as port, transport() as made:
            where = url(f"http://a.test:{port}/")
            for begun in range(1, 7):
                exchange = await made.fetch(Request(where), "127.0.0.1")
                assert requests == begun
                if begun % 2:
                    response(exchange)
                else:
                    assert (exchange.trouble, exchange.connected) == ("reset", True)
                    assert exchange.request_head.startswith(b"GET / HTTP/1.1\r\n")
            assert accepted == 3, "not even a connection was made for a repetition"

    run(scene())


def test_a_redirect_is_an_answer_and_not_followed() -> None:
    async def scene() -> None:
        answer = b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:9/\r\nContent-Length: 0\r\n\r\n"
        async with raw(sending(answer)) as port:
            found = response(await ask(port))
            assert (found.status, found.header("location")) == (302, "http://127.0.0.1:9/")

    run(scene())


@pytest.mark.parametrize("plain", [False, True])
def test_two_thousand_exchanges_are_under_way_at_once(plain: bool) -> None:
    count = 2_000
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 3 * count:
        pytest.skip(f"only {hard} files may be open")
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))

    async def scene() -> None:
        all_here, waiting = asyncio.Event(), 0

        async def wait_for_all(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            nonlocal waiting
            await reader.readuntil(b"\r\n\r\n")
            waiting += 1
            if waiting == count:
                all_here.set()
            await all_here.wait()
            writer.write(OK)

        done: list[Exchange] = []
        landed = asyncio.Event()

        def land(exchange: Exchange) -> None:
            done.append(exchange)
            if len(done) == count:
                landed.set()

        async with raw(wait_for_all) as port, transport(connections=count, connect_timeout_s=30) as made:
            for number in range(count):
                made.begin(request(f"http://h{number}.test:{port}/"), "127.0.0.1", land)
            with pytest.raises(RuntimeError, match="at once"):
                made.begin(request(f"http://a.test:{port}/"), "127.0.0.1", land)
            assert made.under_way == count
            assert done == []
            await landed.wait()
            assert made.under_way == 0
        assert {exchange.trouble for exchange in done} == {""}

    try:
        run(scene(), plain=plain)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_closing_the_transport_ends_what_is_under_way() -> None:
    async def scene() -> None:
        asked_for, all_here = 0, asyncio.Event()

        async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            nonlocal asked_for
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf")
            asked_for += 1
            if asked_for == 5:
                all_here.set()
            await reader.read()

        async with raw(silent) as port:
            async with transport() as made:
                asked = [
                    asyncio.create_task(made.fetch(request(f"http://a.test:{port}/{n}"), "127.0.0.1")) for n in range(5)
                ]
                await all_here.wait()
                assert made.under_way == 5
            assert [exchange.trouble for exchange in await asyncio.gather(*asked)] == ["abandoned"] * 5
            with pytest.raises(RuntimeError, match="not open"):
                made.begin(request(f"http://a.test:{port}/"), "127.0.0.1", print)

    run(scene())


def test_one_who_no_longer_waits_ends_the_exchange() -> None:
    async def scene() -> None:
        async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            here.set()
            await reader.read()
            gone.set()

        here, gone = asyncio.Event(), asyncio.Event()
        async with raw(silent) as port, transport() as made:
            task = asyncio.create_task(made.fetch(request(f"http://a.test:{port}/"), "127.0.0.1"))
            await here.wait()
            task.cancel()
            await asyncio.wait([task])
            assert made.under_way == 0
            await asyncio.wait_for(gone.wait(), 5)

    run(scene())


def test_one_who_fails_to_take_an_answer_does_not_lose_those_of_others() -> None:
    async def scene() -> None:
        complaints: list[dict[str, Any]] = []
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: complaints.append(context))
        all_done, done = asyncio.Event(), 0

        def take(exchange: Exchange) -> None:
            nonlocal done
            done += 1
            if done == 10:
                all_done.set()
            raise ValueError("a bug")

        async with raw(sending(OK)) as port, transport() as made:
            for number in range(10):
                made.begin(request(f"http://a.test:{port}/{number}"), "127.0.0.1", take)
            await all_done.wait()
            assert made.under_way == 0
        assert [str(context["exception"]) for context in complaints] == ["a bug"] * 10

    run(scene())


def test_addresses_of_ipv6_are_connected_to() -> None:
    async def scene() -> None:
        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await sending(OK)(reader, writer)
            writer.close()

        try:
            server = await asyncio.start_server(answer, "::1", 0)
        except OSError:
            pytest.skip("no IPv6 here")
        async with server, transport(allow_networks=("::1/128",)) as made:
            port = server.sockets[0].getsockname()[1]
            for host in ("a.test", "[::1]", "[fd00::1]"):
                exchange = await made.fetch(request(f"http://{host}:{port}/"), "::1")
                assert response(exchange).document.read() == b"ok"
                assert exchange.request_head.startswith(f"GET / HTTP/1.1\r\nHost: {host}:{port}\r\n".encode())

    run(scene())
