"""Limits on time, on bodies and on heads, and what trouble is called."""

import asyncio
import errno
import os
from pathlib import Path
from typing import Any

import pycurl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fetch.rig import Answer, ask, raw, request, response, run, sending, transport, url
from tests.sim.web import Served
from whimbrel.fetch.body import MemoryDocument, SpilledDocument
from whimbrel.fetch.trouble import Fault, Trouble, trouble_of
from whimbrel.shortage import Shortage
from whimbrel.visit import Request

HEAD = b"HTTP/1.1 200 OK\r\n"


def dripping(head: bytes, drop: bytes, every_s: float) -> Answer:
    async def drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(head)
        while not writer.is_closing():
            writer.write(drop)
            await asyncio.sleep(every_s)

    return drip


async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read()


LENGTH = HEAD + b"Content-Length: 1000000\r\n\r\n"
TIMES: dict[str, tuple[Answer, dict[str, Any], str]] = {
    "no first byte": (silent, {"first_byte_timeout_s": 0.3}, "timeout"),
    "an early end": (sending(LENGTH), {}, "cut"),
    "idle": (dripping(LENGTH + b"abc", b"", 1), {"idle_timeout_s": 0.3}, "timeout"),
    "idle in the head": (dripping(HEAD, b"", 1), {"idle_timeout_s": 0.3}, "timeout"),
    "slow": (dripping(LENGTH, b"x", 0.05), {"min_speed_window_s": 0.5, "idle_timeout_s": 9}, "too-slow"),
    "slow head": (dripping(HEAD, b"A: b\r\n", 0.05), {"min_speed_window_s": 0.5, "idle_timeout_s": 9}, "too-slow"),
    "in all": (dripping(LENGTH, b"x" * 100, 0.05), {"timeout_s": 0.5}, "timeout"),
}


@pytest.mark.parametrize("case", TIMES)
def test_patience_ends(case: str) -> None:
    answer, limits, trouble = TIMES[case]

    async def scene() -> None:
        async with raw(answer) as port:
            exchange = await ask(port, **limits)
        assert (exchange.trouble, exchange.connected) == (trouble, True)
        assert exchange.elapsed_s < 2
        assert exchange.request_head

    run(scene())


def test_a_body_that_is_slow_but_not_too_slow_is_waited_for() -> None:
    async def scene() -> None:
        async def slow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(HEAD + b"Content-Length: 500\r\n\r\n")
            for _ in range(10):
                await asyncio.sleep(0.1)
                writer.write(b"x" * 50)

        async with raw(slow) as port:
            limits: dict[str, Any] = {"min_speed_window_s": 0.3, "idle_timeout_s": 0.5, "first_byte_timeout_s": 0.3}
            assert response(await ask(port, **limits)).document.size == 500

    run(scene())


def test_no_connection_is_trouble_that_says_so(web: Served) -> None:
    async def scene() -> None:
        with_nobody = web.web.hosts.find("connect-refused.exhibit.test")
        silent_host = web.web.hosts.find("connect-silent.exhibit.test")
        assert with_nobody is not None
        assert silent_host is not None
        async with transport(connect_timeout_s=0.5, allow_networks=("127.0.0.0/8", "255.255.255.255/32")) as made:
            cases = (
                (f"http://a.test:{web.web.spec.refused_port}/", "127.0.0.1", "refused"),
                (with_nobody.origin + "/", with_nobody.addresses[0], "refused"),
                (silent_host.origin + "/", silent_host.addresses[0], "timeout"),
                ("http://a.test:81/", "255.255.255.255", "unreachable"),
            )
            for text, address, trouble in cases:
                exchange = await made.fetch(request(text), address)
                assert (exchange.trouble, exchange.connected, exchange.request_head) == (trouble, False, b"")
                assert exchange.address == address

    run(scene())


@pytest.mark.parametrize("name", ["expired", "wrong-name", "self-signed", "refused", "absent"])
def test_a_certificate_that_is_not_good_is_trouble(web: Served, name: str) -> None:
    async def scene() -> None:
        host = web.web.hosts.find(f"tls-{name}.exhibit.test")
        assert host is not None
        async with transport(ca=web.running.ca) as made:
            exchange = await made.fetch(request(host.origin + "/"), host.addresses[0])
            assert (exchange.trouble, exchange.connected, exchange.request_head) == ("tls", False, b"")
        async with transport(verify=False) as made:
            exchange = await made.fetch(request(host.origin + "/"), host.addresses[0])
            assert (exchange.trouble == "") is (name in ("expired", "wrong-name", "self-signed"))

    run(scene())


def test_a_host_that_nobody_vouches_for_is_not_trusted_without_its_authority(web: Served) -> None:
    async def scene() -> None:
        host = next(host for host in map(web.web.hosts.get, range(300)) if host.scheme == "https")
        async with transport() as made:
            exchange = await made.fetch(request(host.origin + "/"), host.addresses[0])
        assert exchange.trouble == "tls"

    run(scene())


@pytest.mark.parametrize("announced", [True, False])
@pytest.mark.parametrize("spill_bytes", [100, 10_000])
def test_a_body_beyond_the_limit_is_cut_and_its_connection_closed(announced: bool, spill_bytes: int) -> None:
    async def scene() -> None:
        body = bytes(range(256)) * 20
        length = b"Content-Length: %d\r\n" % len(body) if announced else b""
        connected = 0

        async def keep(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            nonlocal connected
            connected += 1
            while True:
                await reader.readuntil(b"\r\n\r\n")
                writer.write(HEAD + length + b"\r\n" + body)
                if not announced:
                    return

        async with raw(keep) as port, transport(max_bytes=5_000, spill_bytes=spill_bytes) as made:
            for _ in range(2):
                found = response(await made.fetch(request(f"http://a.test:{port}/"), "127.0.0.1"))
                assert found.truncated == "length"
                assert found.document.read() == body[:5_000]
                assert found.document.size == 5_000
                kind = SpilledDocument if spill_bytes < 5_000 else MemoryDocument
                assert isinstance(found.document, kind)
                found.document.close()
        assert connected == 2
        async with raw(keep) as port:
            found = response(await ask(port, max_bytes=len(body), spill_bytes=spill_bytes))
            assert (found.truncated, found.document.read()) == ("", body)
            found.document.close()

    run(scene())


def resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def test_a_very_large_body_takes_no_memory(tmp_path: Path) -> None:
    size = 256 * 1024 * 1024

    async def scene() -> None:
        async def endless(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(HEAD + b"\r\n")
            piece = b"x" * 65_536
            while True:
                writer.write(piece)
                await writer.drain()

        async with raw(endless) as port, transport(max_bytes=size, spill_directory=str(tmp_path)) as made:
            before = resident_bytes()
            found = response(await made.fetch(request(f"http://a.test:{port}/"), "127.0.0.1"))
            assert resident_bytes() - before < 16 * 1024 * 1024
            assert (found.truncated, found.document.size) == ("length", size)
            assert os.listdir(tmp_path) == []  # noqa: PTH208 - names only
            found.document.close()

    run(scene())


@pytest.mark.parametrize(
    ("head", "trouble"),
    [
        (b"A: " + b"x" * 900 + b"\r\n\r\n", ""),
        (b"A: " + b"x" * 2_000 + b"\r\n\r\n", "header-too-large"),
        (b"A: b\r\n" * 400 + b"\r\n", "header-too-large"),
        (b"A: " + b"x" * 200_000 + b"\r\n\r\n", "header-too-large"),
        (b"A: b\r\n" * 100_000 + b"\r\n", "header-too-large"),
    ],
)
def test_a_head_beyond_the_limit_is_trouble(head: bytes, trouble: str) -> None:
    async def scene() -> None:
        async with raw(sending(HEAD + b"Content-Length: 0\r\n" + head)) as port:
            exchange = await ask(port, max_header_bytes=1_000)
            assert (exchange.trouble, exchange.connected) == (trouble, True)
            assert (exchange.response is None) is bool(trouble)

    run(scene())


def test_a_disk_that_takes_nothing_is_no_trouble_of_the_server(tmp_path: Path) -> None:
    async def scene() -> None:
        spill = tmp_path / "spill"
        async with raw(sending(HEAD + b"\r\n" + b"x" * 200_000)) as port, transport(spill_directory=str(spill)) as made:
            spill.rmdir()
            exchange = await made.fetch(request(f"http://a.test:{port}/"), "127.0.0.1")
            assert (exchange.trouble, exchange.response) == (Trouble.ABANDONED, None)
            assert exchange.shortage is not None
            assert (exchange.shortage.resource, exchange.shortage.cause) == ("directory", "No such file or directory")

    (tmp_path / "spill").mkdir()
    run(scene())


@pytest.mark.parametrize("key", ["cookies", "ca", "spill_directory"])
def test_what_is_not_there_is_an_error_when_the_transport_is_opened(tmp_path: Path, key: str) -> None:
    async def scene() -> None:
        with pytest.raises(FileNotFoundError, match=key):
            async with transport(**{key: str(tmp_path / "nothing")}):
                pass

    run(scene())


def test_every_error_of_libcurl_has_a_word() -> None:
    assert trouble_of(61, "", 0, has_head=True) == "bad-http"
    assert trouble_of(3, "bad URL", 0, has_head=False) == "bad-url"
    assert trouble_of(92, "HTTP/2 stream 1 was reset: CANCEL", 0, has_head=False) == "closed"
    assert trouble_of(92, "HTTP/2 stream 1 was reset: CANCEL", 0, has_head=True) == "cut"
    assert trouble_of(56, "OpenSSL SSL_read: unexpected eof while reading", 0, has_head=True) == "cut"
    assert trouble_of(16, "nghttp2 shuts down connection: PROTOCOL_ERROR", 0, has_head=False) == "bad-http"
    assert trouble_of(51, "", 0, has_head=False) == "tls"


def test_no_error_of_libcurl_is_a_number_and_those_of_this_machine_are_no_trouble_of_a_server() -> None:
    found = {code: trouble_of(code, "", 0, has_head=False) for code in range(1, 150)}
    assert not [word for word in found.values() if isinstance(word, Trouble) and word.startswith("error")]
    assert {code for code, word in found.items() if isinstance(word, Shortage)} == {2, 23, 26, 27, 53, 54, 66, 77}
    assert not [word for word in found.values() if isinstance(word, Trouble) and word.fault is Fault.LOCAL]
    for number in (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM):
        assert isinstance(trouble_of(pycurl.E_COULDNT_CONNECT, "", number, has_head=False), Shortage)


PIECES = st.sampled_from(
    [
        *(
            b"HTTP/1.1 200 OK\r\n",
            b"HTTP/1.1 ",
            b"HTTP/1.1\t204 \r\n",
            b"HTTP/1.1 100 Continue\r\n\r\n",
            b"HTTP/2 200\r\n",
        ),
        *(
            b"HTTP/1.0 999 \xff\r\n",
            b"Content-Length: 3\r\n",
            b"Content-Length: -1\r\n",
            b"Transfer-Encoding: chunked\r\n",
        ),
        *(
            b"Connection: close\r\n",
            b"A: b\n",
            b" folded\r\n",
            b": \r\n",
            b"no colon\r\n",
            b"\0",
            b"\r\n",
            b"\n",
            b"\r",
        ),
        *(
            b"3\r\nabc\r\n",
            b"0\r\n\r\n",
            b"0\r\nT: t\r\n\r\n",
            b"abc",
            b"Content-Encoding: gzip\r\n",
            b"HTTP/1.1 101 X\r\n\r\n",
        ),
        *(
            b"Location: http://a.test:9/\r\n",
            b"Set-Cookie: a=b\r\n",
            b"WWW-Authenticate: Basic\r\n",
            b"Upgrade: h2c\r\n",
        ),
    ]
)


@given(st.lists(st.lists(PIECES | st.binary(max_size=8), max_size=8).map(b"".join), min_size=20, max_size=20))
@settings(max_examples=20, deadline=None)
def test_whatever_a_server_sends_each_request_has_one_end(answers: list[bytes]) -> None:
    async def scene() -> None:
        asked: list[bytes] = []

        async def send(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            target = (await reader.readuntil(b"\r\n\r\n")).split(b" ", 2)[1]
            asked.append(target)
            writer.write(answers[int(target[1:])])

        async with raw(send) as port, transport(http2=False) as made:
            where = [url(f"http://h{number}.test:{port}/{number}") for number in range(len(answers))]
            exchanges = await asyncio.gather(*(made.fetch(Request(one), "127.0.0.1") for one in where))
            assert made.under_way == 0
        assert sorted(asked) == sorted(b"/%d" % number for number in range(len(answers)))
        for exchange in exchanges:
            assert (exchange.response is None) is bool(exchange.trouble)
            assert not exchange.trouble.startswith("error-"), exchange.trouble

    run(scene())


@pytest.mark.parametrize("length", ["9" * 23, str(2**63), "0" * 10 + "9" * 20])
def test_a_body_shorter_than_any_length_that_was_promised_is_cut(length: str) -> None:
    async def scene() -> None:
        head = f"HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n".encode()
        async with raw(sending(head + b"12345")) as port:
            exchange = await ask(port)
            assert (exchange.trouble, exchange.response) == (Trouble.CUT, None)

    run(scene())
