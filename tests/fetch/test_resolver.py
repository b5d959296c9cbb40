"""Addresses of hosts, against the simulated web's name server."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.fetch.rig import run
from tests.sim.web import Served
from whimbrel.fetch import resolver as resolver_module
from whimbrel.fetch.resolver import DnsConfig, DnsResolver, StaticConfig, StaticResolver


class HandClock:
    """A clock that the test moves."""

    def __init__(self) -> None:
        self.at_s = 1000.0

    def now_s(self) -> float:
        return self.at_s

    def wall_s(self) -> float:
        return self.at_s


@asynccontextmanager
async def resolver(port: int, clock: HandClock | None = None, **options: Any) -> AsyncIterator[DnsResolver]:
    made = DnsResolver(DnsConfig(server=f"127.0.0.1:{port}", **{"timeout_s": 0.3, **options}))
    made.bind("clock", clock or HandClock())
    await made.open()
    try:
        yield made
    finally:
        await made.close()


@asynccontextmanager
async def counting_server(names: list[bytes]) -> AsyncIterator[int]:
    """A name server that knows nothing and keeps the questions."""

    class Counter(asyncio.DatagramProtocol):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            self.transport: Any = transport

        def datagram_received(self, data: bytes, address: Any) -> None:
            names.append(data[12:])
            # NXDOMAIN, recursion available.
            self.transport.sendto(data[:2] + b"\x81\x83" + data[4:6] + b"\0\0\0\0\0\0" + data[12:], address)

    loop = asyncio.get_running_loop()
    transport, _ = await loop.create_datagram_endpoint(Counter, local_addr=("127.0.0.1", 0))
    try:
        yield transport.get_extra_info("sockname")[1]
    finally:
        transport.close()


def test_a_channel_is_given_up_after_many_questions_and_no_answer_is_lost(
    web: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resolver_module, "_MOST_ASKED", 10)
    names = [web.web.hosts.name(number) for number in range(60)]

    async def scene() -> None:
        async with resolver(web.running.dns_port, timeout_s=3.0) as made:
            first = made._channel
            found = await asyncio.gather(*(made.resolve(name) for name in names))
            expected = [web.web.hosts.find(name) for name in names]
            assert [set(one.addresses) for one in found] == [set(host.addresses) for host in expected if host]
            assert made._channel is not first
            assert first.under_way == 0
            found = await asyncio.gather(*(made.resolve(f"x{number}.{names[0]}") for number in range(30)))

    run(scene())


def exhibit(web: Served, name: str) -> str:
    host = web.web.hosts.find(f"{name}.exhibit.test")
    assert host is not None
    return host.name


@pytest.mark.parametrize("name", ["cname", "many", "truncated", "short-ttl", "changing"])
def test_hosts_with_addresses_have_them(web: Served, name: str) -> None:
    async def scene() -> None:
        async with resolver(web.running.dns_port) as made:
            found = await made.resolve(exhibit(web, f"dns-{name}"))
        assert len(found.addresses) == (32 if name == "many" else len(set(found.addresses)))
        assert found.addresses
        assert 300 <= found.ttl_s <= 6 * 3600

    run(scene())


@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize("name", ["nxdomain", "servfail", "refused", "silent", "empty", "garbage", "cname-loop"])
def test_hosts_without_an_address_have_none_and_are_left_alone_for_a_while(web: Served, name: str, plain: bool) -> None:
    async def scene() -> None:
        async with resolver(web.running.dns_port, failure_ttl_s=7) as made:
            found = await made.resolve(exhibit(web, f"dns-{name}"))
        assert (found.addresses, found.ttl_s) == ((), 7)

    run(scene(), plain=plain)


def _count(kind: str) -> int:
    """Of the threads or descriptors of this process."""
    return len(list(Path(f"/proc/self/{kind}").iterdir()))


def test_a_server_that_answers_with_garbage_costs_few_threads_and_descriptors() -> None:
    """A channel of c-ares has a thread and four descriptors. One for each question of a crawl would be too many."""
    most = {"task": 0, "fd": 0}

    class Garbage(asyncio.DatagramProtocol):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            self.transport: Any = transport

        def datagram_received(self, data: bytes, address: Any) -> None:
            most.update((kind, max(count, _count(kind))) for kind, count in most.items())
            self.transport.sendto(data[:2] + b"\x81\x80\0\1\0\1\xff", address)

    async def scene() -> None:
        loop = asyncio.get_running_loop()
        transport, _ = await loop.create_datagram_endpoint(Garbage, local_addr=("127.0.0.1", 0))
        async with resolver(transport.get_extra_info("sockname")[1], timeout_s=5.0) as made:
            before = {kind: _count(kind) for kind in most}
            found = await asyncio.gather(*(made.resolve(f"h{number}.test") for number in range(200)))
            assert not any(one.addresses for one in found)
        transport.close()
        assert most["task"] - before["task"] < 30
        assert most["fd"] - before["fd"] < 80

    run(scene())


def test_a_slow_answer_is_waited_for(web: Served) -> None:
    async def scene() -> None:
        async with resolver(web.running.dns_port, timeout_s=3) as made:
            assert (await made.resolve(exhibit(web, "dns-slow"))).addresses

    run(scene())


def test_a_slow_answer_is_waited_for_where_others_are_quick(web: Served) -> None:
    async def scene() -> None:
        async with resolver(web.running.dns_port, timeout_s=DnsConfig().timeout_s) as made:
            await asyncio.gather(*(made.resolve(web.web.hosts.name(number)) for number in range(20)))
            assert (await made.resolve(exhibit(web, "dns-slow"))).addresses

    run(scene())


@pytest.mark.parametrize("questions", [0, 20])
def test_a_question_is_given_up_after_its_time_whatever_was_learnt_of_the_server(web: Served, questions: int) -> None:
    async def scene() -> None:
        async with resolver(web.running.dns_port, timeout_s=2.0, tries=20) as made:
            await asyncio.gather(*(made.resolve(web.web.hosts.name(number)) for number in range(questions)))
            started_s = time.monotonic()
            assert not (await made.resolve(exhibit(web, "dns-silent"))).addresses
            assert 1.9 < time.monotonic() - started_s < 10

    run(scene())


def test_an_answer_holds_for_its_clamped_time_and_then_is_asked_for_again(web: Served) -> None:
    async def scene() -> None:
        clock = HandClock()
        async with resolver(web.running.dns_port, clock, min_ttl_s=10, max_ttl_s=20) as made:
            name = exhibit(web, "dns-rebinding")
            first = await made.resolve(name)
            assert 10 <= first.ttl_s <= 20
            clock.at_s += first.ttl_s - 1
            later = await made.resolve(name)
            assert (later.addresses, later.ttl_s) == (first.addresses, 1)
            clock.at_s += 1
            assert (await made.resolve(name)).ttl_s > 1

    run(scene())


def test_one_question_is_under_way_per_name_and_failures_are_remembered() -> None:
    async def scene() -> None:
        asked: list[bytes] = []
        clock = HandClock()
        async with counting_server(asked) as port, resolver(port, clock) as made:
            answers = await asyncio.gather(*(made.resolve("a.test") for _ in range(50)))
            assert {answer.addresses for answer in answers} == {()}
            assert len(asked) == 2, "A and AAAA"
            clock.at_s += 29
            await made.resolve("a.test")
            assert len(asked) == 2
            clock.at_s += 2
            await made.resolve("a.test")
            assert len(asked) == 4

    run(scene())


@asynccontextmanager
async def generous_server(addresses: int) -> AsyncIterator[int]:
    """A name server that gives every name so many addresses, by TCP."""

    class Udp(asyncio.DatagramProtocol):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            self.transport: Any = transport

        def datagram_received(self, data: bytes, address: Any) -> None:
            self.transport.sendto(data[:2] + b"\x83\x80" + data[4:6] + b"\0\0\0\0\0\0" + question(data), address)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while head := await reader.read(2):
            data = await reader.readexactly(int.from_bytes(head, "big"))
            asked = question(data)
            is_a = asked[-4:-2] == b"\0\1"
            record = b"\xc0\x0c\0\1\0\1\0\0\x0e\x10\0\4\x0a"
            records = [record + at.to_bytes(3, "big") for at in range(addresses)] if is_a else []
            body = data[:2] + b"\x81\x80\0\1" + len(records).to_bytes(2, "big") + b"\0\0\0\0" + asked
            body += b"".join(records)
            writer.write(len(body).to_bytes(2, "big") + body)
        writer.close()

    def question(data: bytes) -> bytes:
        return data[12 : data.index(b"\0", 12) + 5]

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    loop = asyncio.get_running_loop()
    transport, _ = await loop.create_datagram_endpoint(Udp, local_addr=("127.0.0.1", port))
    try:
        yield port
    finally:
        transport.close()
        server.close()


def test_answers_with_thousands_of_addresses_are_cut_and_do_not_stay_in_memory() -> None:
    async def scene() -> None:
        async with generous_server(4_000) as port, resolver(port, timeout_s=10.0) as made:
            channels = set()
            for number in range(40):
                found = await made.resolve(f"h{number}.test")
                assert len(found.addresses) == 32
                channels.add(made._channel)
            assert len(channels) > 3, "c-ares keeps what it was told for as long as a channel lives"

    run(scene())


def test_the_cache_is_bounded_and_the_oldest_goes() -> None:
    async def scene() -> None:
        asked: list[bytes] = []
        async with counting_server(asked) as port, resolver(port, cache_bytes=8_000) as made:
            for number in range(30):
                await made.resolve(f"h{number}.test")
            assert len(made._known) < 25
            await made.resolve("h29.test")
            assert len(asked) == 60
            await made.resolve("h0.test")
            assert len(asked) == 62

    run(scene())


def test_one_who_no_longer_waits_does_not_take_the_answer_from_others(web: Served) -> None:
    async def scene() -> None:
        async with resolver(web.running.dns_port, timeout_s=3) as made:
            name = exhibit(web, "dns-slow")
            hasty, patient = (asyncio.create_task(made.resolve(name)) for _ in range(2))
            await asyncio.sleep(0)
            hasty.cancel()
            assert (await patient).addresses

    run(scene())


def test_closing_answers_what_is_under_way(web: Served) -> None:
    async def scene() -> None:
        async with resolver(web.running.dns_port, timeout_s=5) as made:
            waiting = asyncio.create_task(made.resolve(exhibit(web, "dns-silent")))
            await asyncio.sleep(0)
        assert (await waiting).addresses == ()

    run(scene())


@pytest.mark.parametrize(
    ("host", "address"),
    [
        *(("127.0.0.1", "127.0.0.1"), ("[::1]", "::1"), ("::1", "::1"), ("[2001:DB8::0:1]", "2001:db8::1")),
        ("[::ffff:10.0.0.1]", "::ffff:a00:1"),
    ],
)
def test_literals_are_answered_at_once(host: str, address: str) -> None:
    async def scene() -> None:
        asked: list[bytes] = []
        async with counting_server(asked) as port, resolver(port) as made:
            found = await made.resolve(host)
            assert found.addresses == (address,) == (await StaticResolver(StaticConfig()).resolve(host)).addresses
            assert asked == []

    run(scene())


@pytest.mark.parametrize(
    "host", ["", ".", "a..test", "x" * 64 + ".test", "a." * 200 + "test", "bü.test", "a b", "[x]", "1.2.3"]
)
def test_a_bad_name_has_no_address_and_raises_nothing(host: str) -> None:
    async def scene() -> None:
        asked: list[bytes] = []
        async with counting_server(asked) as port, resolver(port) as made:
            assert (await made.resolve(host)).addresses == ()

    run(scene())


def test_a_static_resolver_knows_its_hosts_and_no_others() -> None:
    async def scene() -> None:
        made = StaticResolver(StaticConfig(hosts={"a.test": ("127.0.0.1", "::1")}, ttl_s=5))
        found = await made.resolve("a.test")
        assert (found.addresses, found.ttl_s) == (("127.0.0.1", "::1"), 5)
        assert (await made.resolve("b.test")).addresses == ()

    run(scene())
