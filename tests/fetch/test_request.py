"""What is really sent, and to whom."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.fetch.rig import OK, Answer, ask, raw, request, response, run, transport
from whimbrel.fetch.request_header import header_lines

TARGETS = (
    *(
        "/",
        "/a/b?c=d&e",
        "/?",
        "/a//b/./c",
        "/%7Euser/%2e%2E/x",
        "/a|b^c",
        "/'%22{}[]?q='\"{}|^`",
        "/x;y=1,2@3:4!$*+()",
    ),
    *("/" + "long/" * 400, "/%E2%82%AC?%E2%82%AC", "/..%2f", "/%c3%bc?%3a%3A#f"),
)


def recording(requests: list[bytes], answer: bytes = OK) -> Answer:
    async def keep(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            requests.append(await reader.readuntil(b"\r\n\r\n"))
            if requests[-1].startswith(b"CONNECT"):
                writer.write(b"HTTP/1.1 200 Connected\r\nX-Proxy: yes\r\n\r\nthis is no TLS")
                return
            writer.write(answer)

    return keep


@pytest.mark.parametrize("host", ["a.test", "under_score.a-b.test", "xn--bcher-kva.test"])
def test_the_request_on_record_is_what_was_sent_byte_by_byte(host: str) -> None:
    async def scene() -> None:
        requests: list[bytes] = []
        headers = {"From": "someone@example.org", "X-Empty": "", "accept": "*/*"}
        async with raw(recording(requests)) as port, transport(user_agent="agent/1 (+x)", headers=headers) as made:
            for target in TARGETS:
                exchange = await made.fetch(request(f"http://{host}:{port}{target}"), "127.0.0.1")
                assert response(exchange).document.read() == b"ok"
                assert exchange.request_head + b"\r\n" == requests[-1]
            assert len(requests) == len(TARGETS)
            assert b"\r\nAccept: */*\r\n" in requests[-1]
            assert b"\r\nAccept-Encoding: gzip, deflate, br, zstd\r\n" in requests[-1]
            assert requests[-1].count(b"\r\nUser-Agent: agent/1 (+x)\r\n") == 1

    run(scene())


def test_a_header_that_would_become_two_is_refused_when_the_transport_is_made() -> None:
    for headers in ({"X": "a\r\nY: b"}, {"X\nY": "b"}, {"Host": "b.test"}):
        with pytest.raises(ValueError, match="cannot be sent"):
            header_lines("agent", headers)


def test_the_environment_and_the_home_directory_change_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".netrc").write_text("default login me password secret\n")
    (tmp_path / ".curlrc").write_text("user-agent = other\n")

    async def scene() -> None:
        requests: list[bytes] = []
        async with raw(recording(requests)) as port:
            exchange = await ask(port)
            assert response(exchange).status == 200
            assert exchange.request_head + b"\r\n" == requests[0]
            assert b"Authorization" not in requests[0]

    run(scene())


def test_cookies_come_from_the_file_only_and_those_that_servers_set_are_forgotten(tmp_path: Path) -> None:
    file = tmp_path / "cookies.txt"
    text = "# Netscape HTTP Cookie File\na.test\tFALSE\t/\tFALSE\t0\tsession\tabc\n"
    file.write_text(text)
    setting = b"HTTP/1.1 200 OK\r\nSet-Cookie: session=stolen\r\nSet-Cookie: more=1\r\nContent-Length: 0\r\n\r\n"

    async def scene() -> None:
        requests: list[bytes] = []
        async with raw(recording(requests, setting)) as port, transport(cookies=str(file)) as made:
            for _ in range(3):
                exchange = await made.fetch(request(f"http://a.test:{port}/"), "127.0.0.1")
                assert exchange.request_head + b"\r\n" == requests[-1].replace(b"session=abc", b"redacted")
                assert b"\r\nCookie: session=abc\r\n" in requests[-1]
            await made.fetch(request(f"http://b.test:{port}/"), "127.0.0.1")
            assert b"Cookie" not in requests[-1]
        async with raw(recording(requests, setting)) as port, transport() as made:
            for _ in range(2):
                await made.fetch(request(f"http://a.test:{port}/"), "127.0.0.1")
                assert b"Cookie" not in requests[-1]

    run(scene())
    assert file.read_text() == text


def test_a_proxy_is_asked_when_one_is_configured_and_only_for_addresses_that_are_allowed() -> None:
    async def scene() -> None:
        requests: list[bytes] = []
        async with raw(recording(requests)) as port:
            options: dict[str, Any] = {"proxy": f"http://127.0.0.1:{port}", "allow_networks": ()}
            async with transport(**options) as made:
                exchange = await made.fetch(request("http://a.test/b%2f?c"), "93.184.215.14")
                assert response(exchange).document.read() == b"ok"
                assert requests[0].startswith(b"GET http://a.test/b%2f?c HTTP/1.1\r\nHost: a.test\r\n")
                assert exchange.request_head + b"\r\n" == requests[0]
                exchange = await made.fetch(request("http://a.test/b%2f?c"), "10.0.0.1")
                assert (exchange.trouble, exchange.request_head) == ("private-address", b"")
                exchange = await made.fetch(request("https://a.test/"), "93.184.215.14")
                assert requests[1].startswith(b"CONNECT a.test:443 HTTP/1.1\r\n")
                assert (exchange.trouble, exchange.connected) == ("tls", False)
        assert len(requests) == 2

    run(scene())
