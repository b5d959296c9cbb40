"""Certificates of the simulated web, as curl and Python's own client judge them."""

import asyncio
import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import pytest
import uvloop

from whimbrel.simweb.exhibit import HOST_LABELS
from whimbrel.simweb.host import SimHosts
from whimbrel.simweb.server.certificate import BLOCK, MAX_CONTEXTS, Authority, server_context
from whimbrel.simweb.spec import WebSpec

needs_curl = pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")

HOSTS = SimHosts(WebSpec(hosts=20_000, https=1.0), HOST_LABELS)
# Exit codes of curl.
HANDSHAKE_FAILED = 35
NOT_TRUSTED = 60


class Greet(asyncio.Protocol):
    """Answers whatever it reads with an empty page."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self._transport.write(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
        self._transport.close()


@dataclass(frozen=True)
class Server:
    port: int
    ca: Path

    def curl(self, name: str, *options: str) -> subprocess.CompletedProcess[str]:
        place = ("--resolve", f"{name}:{self.port}:127.0.0.1", "--noproxy", "*", "--max-time", "10")
        command = ["curl", "-sS", "--http1.1", "--cacert", str(self.ca), *place, *options]
        return subprocess.run(
            [*command, f"https://{name}:{self.port}/"], capture_output=True, text=True, timeout=20, check=False
        )

    def certificate(self, name: str, *, offers: tuple[str, ...] = ("http/1.1",)) -> tuple[set[str], str | None]:
        """The names in the certificate that a strict client gets, and the protocol that was chosen."""
        context = ssl.create_default_context(cafile=str(self.ca))
        context.verify_flags |= ssl.VERIFY_X509_STRICT
        context.set_alpn_protocols(list(offers))
        with (
            socket.create_connection(("127.0.0.1", self.port), 10) as plain,
            context.wrap_socket(plain, server_hostname=name) as secure,
        ):
            found = secure.getpeercert()
            assert found is not None
            names = cast("tuple[tuple[str, str], ...]", found["subjectAltName"])
            return {value for _, value in names}, secure.selected_alpn_protocol()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    authority = Authority(tmp_path_factory.mktemp("authority"))
    context = server_context(authority, HOSTS)
    loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()

    async def start() -> asyncio.Server:
        return await loop.create_server(Greet, "127.0.0.1", 0, ssl=context)

    async def stop(listener: asyncio.Server) -> None:
        listener.close()
        await listener.wait_closed()

    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    listener = asyncio.run_coroutine_threadsafe(start(), loop).result(10)
    try:
        yield Server(listener.sockets[0].getsockname()[1], authority.path)
    finally:
        asyncio.run_coroutine_threadsafe(stop(listener), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()


@needs_curl
@pytest.mark.parametrize("number", [0, 1, BLOCK - 1, BLOCK, 19_999])
def test_curl_trusts_an_ordinary_host(server: Server, number: int) -> None:
    done = server.curl(HOSTS.name(number))
    assert (done.returncode, done.stderr) == (0, "")


@needs_curl
def test_curl_trusts_a_host_in_any_case(server: Server) -> None:
    assert server.curl("WWW.s0.TEST").returncode == 0


@needs_curl
def test_curl_trusts_an_exhibit_host_without_tls_trouble(server: Server) -> None:
    assert server.curl("robots-allow-all.exhibit.test").returncode == 0


@needs_curl
def test_curl_without_the_authority_trusts_nobody(server: Server, tmp_path: Path) -> None:
    stranger = Authority(tmp_path)
    assert server.curl(HOSTS.name(0), "--cacert", str(stranger.path)).returncode == NOT_TRUSTED


@needs_curl
def test_tls_expired_is_a_certificate_that_has_ended(server: Server) -> None:
    done = server.curl("tls-expired.exhibit.test")
    assert done.returncode == NOT_TRUSTED
    assert "certificate has expired" in done.stderr


@needs_curl
def test_tls_wrong_name_is_a_certificate_for_another_name(server: Server) -> None:
    done = server.curl("tls-wrong-name.exhibit.test")
    assert done.returncode == NOT_TRUSTED
    assert "no alternative certificate subject name matches" in done.stderr


@needs_curl
def test_tls_self_signed_is_a_certificate_that_nobody_vouches_for(server: Server) -> None:
    done = server.curl("tls-self-signed.exhibit.test")
    assert done.returncode == NOT_TRUSTED
    assert "self-signed certificate" in done.stderr or "self signed certificate" in done.stderr


@needs_curl
def test_tls_refused_is_an_alert_that_no_laxity_helps_against(server: Server) -> None:
    done = server.curl("tls-refused.exhibit.test", "--insecure")
    assert done.returncode == HANDSHAKE_FAILED
    assert "handshake failure" in done.stderr


@needs_curl
@pytest.mark.parametrize("trouble", ["tls-expired", "tls-wrong-name", "tls-self-signed"])
def test_a_troubled_certificate_serves_a_client_that_does_not_look(server: Server, trouble: str) -> None:
    assert server.curl(f"{trouble}.exhibit.test", "--insecure").returncode == 0


@needs_curl
def test_an_unknown_name_gets_the_certificate_of_localhost(server: Server) -> None:
    assert server.curl("www.example.com").returncode == NOT_TRUSTED
    assert server.curl("localhost").returncode == 0


def test_two_hosts_of_a_block_share_a_certificate_and_the_next_block_has_another(server: Server) -> None:
    first, same, other = (server.certificate(HOSTS.name(number))[0] for number in (0, BLOCK - 1, BLOCK))
    assert first == same == {HOSTS.name(number) for number in range(BLOCK)}
    assert first.isdisjoint(other)


def test_an_exhibit_host_has_a_certificate_of_its_own(server: Server) -> None:
    assert server.certificate("robots-allow-all.exhibit.test")[0] == {"robots-allow-all.exhibit.test"}


@pytest.mark.parametrize(
    ("offers", "chosen"),
    [(("h2", "http/1.1"), "h2"), (("http/1.1",), "http/1.1"), (("http/1.1", "h2"), "h2"), (("spdy/3",), None)],
)
def test_the_protocol_is_chosen_after_the_change_of_certificates(
    server: Server, offers: tuple[str, ...], chosen: str | None
) -> None:
    assert server.certificate(HOSTS.name(5), offers=offers)[1] == chosen


def test_no_key_and_no_open_file_stays_behind(tmp_path: Path) -> None:
    before = set(Path("/proc/self/fd").iterdir())
    server_context(Authority(tmp_path), HOSTS)
    assert set(Path("/proc/self/fd").iterdir()) == before
    assert [file.name for file in tmp_path.iterdir()] == ["ca.pem"]
    assert "PRIVATE KEY" not in (tmp_path / "ca.pem").read_text()


def test_a_web_of_twenty_thousand_hosts_needs_no_more_contexts_than_are_kept() -> None:
    assert HOSTS.spec.hosts / BLOCK + len(HOST_LABELS) <= MAX_CONTEXTS
