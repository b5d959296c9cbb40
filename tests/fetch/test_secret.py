"""One handle makes requests to many origins: no secret stays in it, and none is on record."""

import asyncio
from pathlib import Path

import pytest

from tests.fetch.rig import raw, request, response, run, transport, url
from tests.fetch.test_request import recording
from tests.sim.web import Served
from whimbrel.fetch.curl_option import CurlConfig
from whimbrel.visit import Request


def test_a_handle_forgets_a_secret_before_the_next_origin_whatever_the_request() -> None:
    async def scene() -> None:
        requests: list[bytes] = []
        async with raw(recording(requests)) as port:
            mine, login = f"http://a.test:{port}", f"http://b.test:{port}"
            options = {
                "headers": {"cookie": "secret-one", "X-Plain": "yes"},
                "credential_origins": (mine,),
                "authorizations": {login: "Basic secret-two"},
            }
            async with transport(**options) as made:
                for host, expected in zip("abcacba", (1, 2, 0, 1, 0, 2, 1), strict=True):
                    for method in ("GET", "HEAD", "GET", "GET"):
                        exchange = await made.fetch(Request(url(f"http://{host}.test:{port}/"), method), "127.0.0.1")
                        assert (b"cookie: secret-one\r\n" in requests[-1]) == (expected == 1)
                        assert (b"Authorization: Basic secret-two\r\n" in requests[-1]) == (expected == 2)
                        assert b"X-Plain: yes\r\n" in requests[-1]
                        kept = (
                            requests[-1].replace(b"secret-one", b"redacted").replace(b"Basic secret-two", b"redacted")
                        )
                        assert exchange.request_head + b"\r\n" == kept

    run(scene())


def test_other_headers_are_taken_over_while_exchanges_are_under_way_and_wrong_ones_change_nothing() -> None:
    async def scene() -> None:
        requests: list[bytes] = []
        go_on = asyncio.Event()

        async def held(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            while True:
                requests.append(await reader.readuntil(b"\r\n\r\n"))
                await go_on.wait()
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")

        async with raw(held) as port, transport(headers={"Cookie": "one"}, credential_origins=()) as made:
            first = asyncio.ensure_future(made.fetch(request(f"http://a.test:{port}/"), "127.0.0.1"))
            while not requests:
                await asyncio.sleep(0)
            config: CurlConfig = made.config
            origins = (f"http://a.test:{port}",)
            changed = CurlConfig(
                allow_networks=config.allow_networks, headers={"Cookie": "two"}, credential_origins=origins
            )
            made.reconfigure(changed)
            for wrong in ({"headers": {"X": "a\nb"}}, {"credential_origins": ("nowhere",)}):
                with pytest.raises(ValueError, match=r"cannot be sent|is not an origin"):
                    made.reconfigure(CurlConfig(allow_networks=config.allow_networks, **wrong))
            go_on.set()
            assert b"Cookie" not in (await first).request_head
            for _ in range(3):
                exchange = await made.fetch(request(f"http://a.test:{port}/"), "127.0.0.1")
                assert b"Cookie: two\r\n" in requests[-1]
                assert b"Cookie: redacted\r\n" in exchange.request_head
                await made.fetch(request(f"http://b.test:{port}/"), "127.0.0.1")
                assert b"Cookie" not in requests[-1]

    run(scene())


@pytest.mark.parametrize("http2", [False, True])
def test_the_record_of_a_request_over_tls_has_no_secret(web: Served, tmp_path: Path, http2: bool) -> None:
    host = next(host for host in map(web.web.hosts.get, range(300)) if host.scheme == "https")
    file = tmp_path / "cookies.txt"
    file.write_text(f"{host.name}\tFALSE\t/\tTRUE\t0\tname\tsecret-cookie\n")
    options = {"headers": {"Authorization": "secret-header"}, "credential_origins": (host.origin,), "http2": http2}

    async def scene() -> None:
        for more in ({}, {"cookies": str(file)}):
            async with transport(ca=web.running.ca, **options, **more) as made:
                exchange = await made.fetch(request(f"{host.origin}/"), host.addresses[0])
                assert response(exchange).http_version == ("2" if http2 else "1.1")
                lines = exchange.request_head.lower().split(b"\r\n")
                assert b"authorization: redacted" in lines
                assert (b"cookie: redacted" in lines) == bool(more)
                assert b"secret" not in exchange.request_head

    run(scene())
