"""Addresses inside somebody's network are not asked, whichever way they come."""

import asyncio
import socket
from typing import NamedTuple

import pycurl
import pytest

from tests.fetch.rig import OK, raw, request, response, run, transport, url
from tests.sim.web import Served
from whimbrel.clock import SystemClock
from whimbrel.fetch.curl_option import CurlConfig
from whimbrel.fetch.handle import Handle
from whimbrel.fetch.network import Networks
from whimbrel.fetch.resolver import DnsConfig, DnsResolver, read_literal
from whimbrel.fetch.spill_space import SpillSpace
from whimbrel.fetch.watchdog import Watchdog
from whimbrel.visit import Request

SPELLINGS = (
    *("http://127.0.0.1/", "http://2130706433/", "http://0x7f.1/", "http://0177.0.0.1/", "http://127.1/"),
    *("http://10.0.0.1/", "http://167772161/", "http://012.0.0.01/", "http://169.254.169.254/latest", "http://0/"),
    *("http://[::1]/", "http://[fd00::1]/", "http://[::ffff:10.0.0.1]/", "http://[::ffff:a00:1]/", "http://[::]/"),
    *("http://[64:ff9b::a00:1]/", "http://[2002:a00:1::]/", "http://[fe80::1]/", "http://１２７.0.0.1/"),
)


@pytest.mark.parametrize("text", SPELLINGS)
def test_a_private_address_is_refused_in_every_spelling(text: str) -> None:
    async def scene() -> None:
        where = url(text)
        literal = read_literal(where.host)
        assert literal is not None, where
        async with transport(allow_networks=()) as made:
            exchange = await made.fetch(Request(where), literal.addresses[0])
        assert (exchange.response, exchange.trouble, exchange.connected) == (None, "private-address", False)
        assert (exchange.request_head, exchange.address) == (b"", literal.addresses[0])

    run(scene())


@pytest.mark.parametrize("name", ["dns-private", "dns-mapped"])
def test_a_private_address_that_dns_gives_is_refused(web: Served, name: str) -> None:
    async def scene() -> None:
        resolver = DnsResolver(DnsConfig(server=f"127.0.0.1:{web.running.dns_port}"))
        resolver.bind("clock", SystemClock())
        await resolver.open()
        host = web.web.hosts.find(f"{name}.exhibit.test")
        assert host is not None
        found = await resolver.resolve(host.name)
        await resolver.close()
        assert found.addresses
        async with transport() as made:
            for address in found.addresses:
                exchange = await made.fetch(request(host.origin + "/"), address)
                assert (exchange.trouble, exchange.connected) == ("private-address", False)

    run(scene())


def test_a_refusal_is_told_later_and_never_from_inside_begin() -> None:
    async def scene() -> None:
        told: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        async with transport(allow_networks=()) as made:
            made.begin(request("http://a.test/"), "10.0.0.1", lambda exchange: told.set_result(exchange.trouble))
            assert not told.done()
            assert await told == "private-address"

    run(scene())


def test_nothing_that_is_not_an_address_is_ever_looked_up() -> None:
    async def scene() -> None:
        async with transport() as made:
            for address in ("localhost", "", "a.test", "127.0.0.1:80", "0177.0.0.1"):
                assert (await made.fetch(request("http://a.test/"), address)).trouble == "private-address"

    run(scene())


class Peer(NamedTuple):
    """What pycurl hands to the callback that opens a socket."""

    family: int
    socktype: int
    protocol: int
    addr: tuple[str, int]


def test_the_peer_is_judged_once_more_when_the_socket_is_opened() -> None:
    networks = ("127.0.0.0/8",)
    space = SpillSpace(".", 0)
    handle = Handle(CurlConfig(allow_networks=networks), Networks(networks), SystemClock(), space, Watchdog())
    handle.aim(request("http://a.test/"), "127.0.0.1", lambda exchange: None)
    assert handle._open_socket(0, Peer(socket.AF_INET, socket.SOCK_STREAM, 6, ("127.0.0.1", 80))) != pycurl.SOCKET_BAD
    assert handle._open_socket(0, Peer(socket.AF_INET, socket.SOCK_STREAM, 6, ("10.0.0.1", 80))) == pycurl.SOCKET_BAD
    assert handle.exchange(pycurl.E_COULDNT_CONNECT, "").trouble == "private-address"
    handle.close()


def test_the_name_is_not_looked_up_again_whatever_it_leads_to_by_now(web: Served) -> None:
    """Rebinding: only the address of the visit counts. `localhost` leads to the server, the address does not."""

    async def scene() -> None:
        requests: list[bytes] = []

        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            requests.append(await reader.readuntil(b"\r\n\r\n"))
            writer.write(OK)

        async with raw(answer) as port, transport() as made:
            exchange = await made.fetch(request(f"http://localhost:{port}/"), "127.9.9.9")
            assert (exchange.trouble, exchange.address) == ("refused", "127.9.9.9")
            assert requests == []
            response(await made.fetch(request(f"http://localhost:{port}/"), "127.0.0.1"))
            host = web.web.hosts.find("dns-rebinding.exhibit.test")
            assert host is not None
            for _ in range(3):
                response(await made.fetch(request(host.origin + "/"), host.addresses[0]))

    run(scene())
