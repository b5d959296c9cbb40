"""Servers that say something the simulated web has no exhibit for."""

import asyncio
import gzip
import zlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from email.utils import formatdate

import brotli
import pytest
import zstandard

from tests.qualify.rig import OpenGate, name_of, procedure, run, transport
from whimbrel.fetch.resolver import StaticConfig, StaticResolver
from whimbrel.qualify.api import Qualification
from whimbrel.qualify.robots import RobotsRules

RULES = b"User-agent: *\nDisallow: /private/\n"
HOSTS = {
    "a.test": ("127.0.0.1",),
    "two.test": ("127.0.0.1", "127.0.0.2"),
    "private.test": ("10.0.0.1", "192.168.0.1"),
    "mixed.test": ("10.0.0.1", "127.0.0.1"),
}
Say = Callable[[str, str], bytes]
"""The whole answer to a request for a path at an address."""


def answer(status: int, body: bytes = b"", **headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status} X", f"Content-Length: {len(body)}", "Connection: close"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + body


@asynccontextmanager
async def listening(say: Say) -> AsyncIterator[int]:
    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = await reader.readuntil(b"\r\n\r\n")
        writer.write(say(request.split()[1].decode(), writer.get_extra_info("sockname")[0]))
        await writer.drain()
        writer.close()
        await writer.wait_closed()

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    second = await asyncio.start_server(connected, "127.0.0.2", port)
    async with server, second:
        yield port


def ask(
    say: Say, host: str = "a.test", before: Qualification | None = None, **config: object
) -> tuple[Qualification, OpenGate]:
    async def scene() -> tuple[Qualification, OpenGate]:
        gate = OpenGate()
        async with listening(say) as port, transport() as made:
            resolver = StaticResolver(StaticConfig(HOSTS))
            found = await procedure(resolver, made, gate, **config).qualify(name_of(f"http://{host}:{port}/"), before)
        assert gate.inside == 0
        return found, gate

    return run(scene())


def deflated(body: bytes) -> bytes:
    raw = zlib.compressobj(wbits=-15)
    return raw.compress(body) + raw.flush()


CODED = {
    "gzip": gzip.compress(RULES, mtime=0),
    "x-gzip": gzip.compress(RULES[:20], mtime=0) + gzip.compress(RULES[20:], mtime=0),
    "deflate": zlib.compress(RULES),
    "Deflate": deflated(RULES),
    "br": brotli.compress(RULES),
    "zstd": zstandard.compress(RULES),
    "gzip, br": brotli.compress(gzip.compress(RULES, mtime=0)),
    "identity": RULES,
}


@pytest.mark.parametrize("coding", CODED)
def test_a_coded_robots_txt_is_decoded(coding: str) -> None:
    found, _ = ask(lambda path, address: answer(200, CODED[coding], Content_Encoding=coding))
    assert (found.standing, found.robots) == ("qualified", RULES.decode())


@pytest.mark.parametrize(
    ("coding", "body"),
    [
        ("gzip", RULES),
        ("gzip", gzip.compress(RULES * 99, mtime=0)[:-20]),
        ("br", b"\xff" * 40),
        ("br", brotli.compress(RULES * 99)[:-4]),
        ("zstd", RULES),
        ("deflate", b"\x78\x9c"),
        ("secret", RULES),
        ("gzip, gzip, gzip, gzip, gzip", RULES),
    ],
)
def test_a_robots_txt_that_cannot_be_decoded_is_not_known(coding: str, body: bytes) -> None:
    found, gate = ask(lambda path, address: answer(200, body, Content_Encoding=coding))
    assert (found.standing, found.reason, len(gate.passages)) == ("disqualified", "robots-unreachable", 1)
    assert "undecodable" in found.detail


@pytest.mark.parametrize("coding", ["gzip", "br", "zstd"])
def test_a_bomb_is_read_up_to_the_limit(coding: str) -> None:
    bomb = RULES + b"# nothing\n" * 3_000_000 + b"Disallow: /\n"
    pack = {"gzip": gzip.compress, "br": lambda data: brotli.compress(data, quality=1), "zstd": zstandard.compress}
    packed = pack[coding](bomb)
    found, _ = ask(lambda path, address: answer(200, packed, Content_Encoding=coding))
    assert found.standing == "qualified"
    assert 511_900 < len(found.robots or "") <= 512_000
    assert RobotsRules.parse(found.robots or "", "whimbrel").allows("http://a.test/")


def test_a_line_that_the_limit_cuts_is_not_read() -> None:
    body = RULES + b"#" * (512_000 - len(RULES) - 12) + b"\nDisallow: /only/this/\n"
    found, _ = ask(lambda path, address: answer(200, body))
    assert body[:512_000].endswith(b"Disallow: /")
    assert RobotsRules.parse(found.robots or "", "whimbrel").allows("http://a.test/")


def test_bytes_that_are_not_utf_8_are_compared_as_a_url_spells_them() -> None:
    found, _ = ask(lambda path, address: answer(200, b"User-agent: *\nDisallow: /caf\xe9/\n"))
    rules = RobotsRules.parse(found.robots or "", "whimbrel")
    assert not rules.allows("http://a.test/caf%E9/")
    assert rules.allows("http://a.test/caf%E8/")


@pytest.mark.parametrize(("host", "addresses"), [("private.test", ()), ("mixed.test", ("127.0.0.1",))])
def test_a_private_address_is_not_asked_and_not_kept(host: str, addresses: tuple[str, ...]) -> None:
    found, _ = ask(lambda path, address: answer(200, RULES), host)
    assert found.addresses == addresses
    assert found.reason == ("" if addresses else "private-address")


@pytest.mark.parametrize(
    "location", ["http://private.test/robots.txt", "http://10.1.2.3/", "http://nobody.test/", "http://[::1]/"]
)
def test_a_redirect_to_where_we_do_not_go_leaves_robots_txt_unknown(location: str) -> None:
    found, _ = ask(lambda path, address: answer(301, Location=location))
    assert (found.standing, found.reason) == ("disqualified", "robots-unreachable")
    assert found.addresses == ("127.0.0.1",)


@pytest.mark.parametrize("location", ["", "ftp://a.test/robots.txt", "http://", "javascript:0", "mailto:x"])
def test_a_redirect_that_leads_nowhere_settles_it(location: str) -> None:
    found, gate = ask(lambda path, address: answer(302, Location=location))
    assert (found.standing, found.robots_status) == ("disqualified", 302)
    assert len(gate.passages) == 1


def test_an_error_behind_a_redirect_sends_us_to_the_next_address() -> None:
    def say(path: str, address: str) -> bytes:
        if path == "/robots.txt":
            return answer(301, Location="/rules")
        return answer(200, RULES) if address == "127.0.0.2" else answer(500)

    found, gate = ask(say, "two.test")
    assert (found.addresses, found.robots_status) == (("127.0.0.2", "127.0.0.1"), 200)
    assert [passage.status for passage in gate.passages] == [301, 500, 301, 200]


@pytest.mark.parametrize("status", [300, 304, 401, 403, 405, 451])
def test_any_other_status_disqualifies_without_a_second_request(status: int) -> None:
    found, gate = ask(lambda path, address: answer(status), "two.test")
    assert (found.standing, found.robots_status, len(gate.passages)) == ("disqualified", status, 1)


@pytest.mark.parametrize(
    ("value", "wait_s"),
    [
        ("7200", 7_200.0),
        ("10", 3_600.0),
        ("999999999999", 86_400.0),
        (formatdate(1_800_007_200, usegmt=True), 7_200.0),
        ("-5", 3_600.0),
        ("soon", 3_600.0),
        ("", 3_600.0),
    ],
)
@pytest.mark.parametrize("status", [403, 429, 500, 503])
def test_retry_after_lengthens_the_interval_up_to_a_day(status: int, value: str, wait_s: float) -> None:
    date = formatdate(1_800_000_000, usegmt=True)
    found, gate = ask(lambda path, address: answer(status, Retry_After=value, Date=date))
    assert found.until_s - found.robots_at_s == pytest.approx(wait_s, abs=5)
    # Whoever says when to come again is not asked a second time at once.
    long = value not in ("-5", "soon", "")
    assert len(gate.passages) == (1 if status < 500 or long else 2)


def test_old_rules_are_not_used_against_a_host_that_asked_for_a_rest() -> None:
    good, _ = ask(lambda path, address: answer(200, RULES))
    rest, _ = ask(lambda path, address: answer(503, Retry_After="60"), before=good)
    assert (rest.standing, rest.robots) == ("disqualified", None)
    down, _ = ask(lambda path, address: answer(503), before=good)
    assert (down.standing, down.robots, down.failures) == ("qualified", None, 1), "what it was"
    shut, _ = ask(lambda path, address: answer(403), before=good)
    assert (shut.standing, shut.failures) == ("disqualified", 1)


@pytest.mark.parametrize(
    "said", [b"", b"\0" * 100, b"HTTP/1.1 abc\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", b"\r\n\r\n"]
)
def test_nonsense_is_a_value_and_no_exception(said: bytes) -> None:
    found, gate = ask(lambda path, address: said, "two.test")
    assert (found.standing, found.reason) == ("disqualified", "robots-unreachable")
    assert len(gate.passages) in (2, 4)
