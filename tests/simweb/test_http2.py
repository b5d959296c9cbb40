"""HTTP/2 as curl sees it, on both event loops."""

import asyncio
import os
import random
import shutil
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Self, TypeVar

import pytest
import uvloop
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import ConnectionTerminated, Event

from whimbrel.simweb.answer import Close, Script, Send, SimRequest, Wait, html
from whimbrel.simweb.clock import VirtualClock
from whimbrel.simweb.exhibit.api import Exhibit, ExhibitPlace
from whimbrel.simweb.exhibit.connection import EXHIBITS
from whimbrel.simweb.html import http_date
from whimbrel.simweb.server.log import AccessLog, LoggedExchange, read_log
from whimbrel.simweb.server.serve import Negotiated
from whimbrel.simweb.server.service import Connection, ServedAnswer, Service, WebSite
from whimbrel.simweb.server.translation import translate
from whimbrel.simweb.spec import EPOCH_S, WebSpec
from whimbrel.simweb.web import Web

HOST = "www.s0.test"
BIG = 5_000_000
T = TypeVar("T")


def _speaks_http2() -> bool:
    if shutil.which("curl") is None:
        return False
    return "HTTP2" in subprocess.run(["curl", "--version"], capture_output=True, text=True, check=True).stdout


pytestmark = pytest.mark.skipif(not _speaks_http2(), reason="there is no curl here that speaks HTTP/2")


class Halls:
    """A simulated web, and some paths that it has no exhibit for."""

    def __init__(self) -> None:
        self._web = WebSite(Web(WebSpec(https=1.0)))

    def may_recover(self, host: str, target: str) -> bool:
        return False

    def serve(self, request: SimRequest, now_s: float) -> ServedAnswer:
        match request.path:
            case "/big":
                return ServedAnswer(html(b"b" * BIG), "big")
            case "/slow":
                return ServedAnswer(html(b"s" * 30_000), "slow", latency_s=0.2, bandwidth=100_000)
            case "/headers":
                more = (("Connection", "close"), ("X-Odd", " caf\xe9 "), ("Keep-Alive", "timeout=5"))
                return ServedAnswer(html("odd", 200, *more), "headers")
            case "/echo":
                body = f"{request.method} {request.scheme} {request.host} {request.headers.get('x-mixed')}"
                return ServedAnswer(html(f"{body} {request.reused}"), "echo")
            case "/endless-hints":
                hint = b"HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\n"
                return ServedAnswer(
                    Script((Send(hint), Wait(0.01), Send(hint + b"HTTP/1.1 200 OK\r\n\r\nok")), 200), "hints"
                )
        return self._web.serve(request, now_s)


class Hosted:
    """A server in a thread of its own."""

    def __init__(self, directory: Path, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._log = directory / "access.log"
        self._context = _context(directory)
        self._thread = threading.Thread(target=loop.run_forever)

    def __enter__(self) -> Self:
        self.service = Service(Halls(), VirtualClock(EPOCH_S), AccessLog(self._log))
        self._thread.start()
        self.port = self.do(self._listen())
        return self

    def __exit__(self, *_: object) -> None:
        self.do(self._close())
        self.until(lambda: not self.service.connections)
        self.service.log.__exit__(None, None, None)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.loop.close()

    def do(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(10)

    def until(self, is_so: Callable[[], bool]) -> None:
        deadline = time.monotonic() + 10
        while not self.do(_soon(is_so)):
            assert time.monotonic() < deadline, "it did not come to pass within ten seconds"

    def logged(self, target: str) -> LoggedExchange:
        """The last line about a target, once there is one."""
        lines: list[LoggedExchange] = []

        def is_there() -> bool:
            self.service.log.flush()
            lines[:] = [line for line in read_log(self._log) if line.target == target]
            return bool(lines)

        self.until(is_there)
        return lines[-1]

    def curl(self, *arguments: str, paths: tuple[str, ...] = ("/",)) -> subprocess.CompletedProcess[bytes]:
        urls = [f"https://{HOST}:{self.port}{path}" for path in paths]
        common = ("curl", "-sS", "-k", "--http2", "--resolve", f"{HOST}:{self.port}:127.0.0.1")
        return subprocess.run([*common, *arguments, *urls], capture_output=True, check=False)

    async def _listen(self) -> int:
        self._server = await self.loop.create_server(
            lambda: Negotiated(self.service), "127.0.0.1", 0, ssl=self._context
        )
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    async def _close(self) -> None:
        self._server.close()
        for connection in tuple(self.service.connections):
            connection.close()


def _resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


async def _soon(is_so: Callable[[], bool]) -> bool:
    return is_so()


def _context(directory: Path) -> ssl.SSLContext:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "throwaway")])
    now = datetime.now(UTC)
    draft = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    draft = draft.serial_number(1).not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=1))
    pem = directory / "throwaway.pem"
    pem.write_bytes(
        draft.sign(key, SHA256()).public_bytes(Encoding.PEM)
        + key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)
    context.set_alpn_protocols(["h2", "http/1.1"])
    return context


@pytest.fixture(scope="module", params=["asyncio", "uvloop"])
def hosted(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosted]:
    loop = uvloop.new_event_loop() if request.param == "uvloop" else asyncio.new_event_loop()
    with Hosted(tmp_path_factory.mktemp("http2"), loop) as running:
        yield running


def test_a_page_comes_with_the_headers_of_the_server(hosted: Hosted) -> None:
    page = hosted.curl("-i", "-A", "tester/1")
    head, _, body = page.stdout.decode().partition("\r\n\r\n")
    assert head.startswith("HTTP/2 200")
    assert "server: simweb" in head
    assert f"date: {http_date(int(EPOCH_S))}" in head
    assert f"content-length: {len(body.encode())}" in head
    assert body.startswith("<!DOCTYPE html>")
    line = hosted.logged("/")
    assert (line.http, line.scheme, line.method, line.host, line.status) == ("HTTP/2", "https", "GET", HOST, 200)
    assert (line.agent, line.served) == ("tester/1", "page")
    assert line.bytes > len(body)
    assert line.end >= line.start > EPOCH_S / 2


def test_the_request_is_passed_on_as_http1_would(hosted: Hosted) -> None:
    asked = hosted.curl("-X", "PURGE", "-H", "X-Mixed: Yes", "-d", "body" * 20_000, paths=("/echo", "/echo"))
    assert asked.stdout.decode() == f"PURGE https {HOST} Yes FalsePURGE https {HOST} Yes True"


def test_head_has_no_body(hosted: Hosted) -> None:
    page = hosted.curl("-I", paths=("/big",))
    assert page.returncode == 0
    assert f"content-length: {BIG}" in page.stdout.decode()
    assert hosted.logged("/big").bytes < 1_000
    assert hosted.curl("-I", paths=("/x/no-length/1",)).returncode == 0


def test_headers_about_connections_are_left_out(hosted: Hosted) -> None:
    head = hosted.curl("-i", paths=("/headers",)).stdout.decode("latin-1")
    assert "x-odd: caf\xe9\r\n" in head
    assert "keep-alive" not in head
    assert "connection:" not in head


def test_many_streams_share_one_connection(hosted: Hosted, tmp_path: Path) -> None:
    paths = tuple(f"/x/found/{at}" for at in range(300))
    before = hosted.logged("/").connection if hosted.curl().returncode == 0 else 0
    together = hosted.curl(
        *("--parallel", "--parallel-max", "100", "-o", f"{tmp_path}/#1"), paths=("/x/found/[0-299]",)
    )
    assert together.returncode == 0, together.stderr
    assert len({(tmp_path / str(at)).read_bytes() for at in range(300)}) == 300
    connections = {hosted.logged(path).connection for path in paths}
    assert len(connections) == 1
    assert min(connections) > before


def test_big_bodies_arrive_whole_side_by_side(hosted: Hosted, tmp_path: Path) -> None:
    got = hosted.curl("--parallel", "-o", f"{tmp_path}/#1", paths=("/big?[1-8]",))
    assert got.returncode == 0, got.stderr
    assert {(tmp_path / str(at)).read_bytes() for at in range(1, 9)} == {b"b" * BIG}
    assert hosted.logged("/big?8").bytes > BIG


def test_latency_and_bandwidth_are_kept(hosted: Hosted) -> None:
    assert len(hosted.curl(paths=("/slow",)).stdout) == 30_000
    line = hosted.logged("/slow")
    assert 0.4 < line.end - line.start < 5


def test_redirects_keep_their_status_and_location(hosted: Hosted) -> None:
    moved = hosted.curl("-i", paths=("/x/redirect-301/1",)).stdout.decode()
    assert moved.startswith("HTTP/2 301")
    assert "location: " in moved


def test_reset_drops_the_connection(hosted: Hosted) -> None:
    assert hosted.curl(paths=("/x/reset/1",)).returncode in (16, 35, 52, 55, 56)
    assert hosted.logged("/x/reset/1").status == 0


@dataclass(frozen=True)
class Sight:
    """An exhibit's judged outcome and what curl sees of it: exit code, status, the page (as a whole, or with `begins`
    only its beginning), and a word of the error."""

    judged: str
    exit_codes: tuple[int, ...] = (0,)
    statuses: tuple[int, ...] = (200,)
    begins: str | None = None
    error: str = ""
    max_s: str = "20"


# Exit codes of curl: 28 timeout, 52 empty reply, 56 receive error, 92 stream error. Where there are several, versions
# of curl differ.
SIGHTS = {
    "reset": Sight("failed reset", (16, 35, 52, 55, 56), (0,), ""),
    "reset-reused": Sight("stored new"),
    "close-early": Sight("failed closed", (92,), (0,), "", "CANCEL"),
    "stall": Sight("failed timeout", (28,), (0,), "", max_s="0.5"),
    "stall-body": Sight("failed timeout", (28,), max_s="0.5"),
    "slow-start": Sight("stored new"),
    "drip": Sight("failed too-slow", (28,), (200,), "<!DOCTYPE html><p>drop ", max_s="0.5"),
    "truncated": Sight("failed cut", (92,), error="CANCEL"),
    "length-short": Sight("stored new"),
    # curl refuses the field itself; that the server fails the stream for others is tested below.
    "length-invalid": Sight("failed bad-http", (92,), (0, 200), ""),
    "chunked": Sight("stored new"),
    "chunk-broken": Sight("failed bad-http", (92,), error="PROTOCOL_ERROR"),
    "chunk-cut": Sight("failed cut", (92,), error="CANCEL"),
    "garbage": Sight("failed bad-http", (92,), (0,), "", "PROTOCOL_ERROR"),
    # Whose limits are exceeded first, curl's or those of its library, decides how it says so.
    "header-endless": Sight("failed header-too-large", (16, 52, 56, 92), (0, 200), ""),
    "header-huge": Sight("failed header-too-large", (16, 52, 56, 92), (0, 200), ""),
    "body-endless": Sight("stored truncated-length", (28,), (200,), "<!DOCTYPE html>", max_s="0.5"),
    "no-length": Sight("stored new"),
    "http10": Sight("stored new"),
    "interim": Sight("stored new"),
    "found": Sight("stored new"),
}


@pytest.mark.parametrize("exhibit", EXHIBITS, ids=lambda exhibit: exhibit.name)
def test_what_curl_sees_fits_the_judged_outcome(hosted: Hosted, exhibit: Exhibit, tmp_path: Path) -> None:
    web, sight, path = Web(WebSpec(https=1.0)), SIGHTS[exhibit.name], f"/x/{exhibit.name}/seen"
    host = web.hosts.find(HOST)
    assert host is not None
    place = ExhibitPlace(web.hosts, host, exhibit.name, "seen")
    judged = exhibit.judge(place)
    assert f"{judged.outcome} {judged.reason}" == sight.judged

    body = tmp_path / "body"
    body.touch()
    limits = ("-m", sight.max_s, "--limit-rate", "1M")
    seen = hosted.curl(*limits, "-o", str(body), "-w", "%{http_code}", paths=(path,))
    assert seen.returncode in sight.exit_codes, seen
    assert int(seen.stdout) in sight.statuses
    assert sight.error in seen.stderr.decode()
    if sight.begins is None:
        assert body.read_text() == place.document()
    else:
        assert body.read_text().startswith(sight.begins)
        assert bool(body.read_text()) == bool(sight.begins)
    assert hosted.logged(path).http == "HTTP/2"


@pytest.mark.parametrize(
    ("body", "data", "end"),
    [
        ("5\r\nhello\r\n0\r\n\r\n", "hello", ErrorCodes.NO_ERROR),
        (
            "5;a=b\r\nhello\r\n00A \r\n and world\r\n0;c\r\nTrailer: t\r\n\r\nmore",
            "hello and world",
            ErrorCodes.NO_ERROR,
        ),
        ("0\r\n\r\n", "", ErrorCodes.NO_ERROR),
        ("", "", ErrorCodes.CANCEL),
        ("5\r\nhel", "hel", ErrorCodes.CANCEL),
        ("5\r\nhello\r\n0\r\n", "hello", ErrorCodes.CANCEL),
        ("5\r\nhello\r\n0\r\nTrailer: t\r\n", "hello", ErrorCodes.CANCEL),
        ("5\r\nhello\r\nz", "hello", ErrorCodes.PROTOCOL_ERROR),
        ("5\r\nhello, longer\r\n0\r\n\r\n", "hello", ErrorCodes.PROTOCOL_ERROR),
        ("-5\r\nhello\r\n0\r\n\r\n", "", ErrorCodes.PROTOCOL_ERROR),
        ("\r\n0\r\n\r\n", "", ErrorCodes.PROTOCOL_ERROR),
        ("0\r\n" + "t: t\r\n" * 60_000, "", ErrorCodes.ENHANCE_YOUR_CALM),
    ],
)
def test_chunks_are_undone_however_they_come(body: str, data: str, end: ErrorCodes) -> None:
    head = Send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\nContent-Length: 3\r\n\r\n")
    piece = 1 if len(body) < 100 else 10_000
    pieces = (Send(body[at : at + piece].encode()) for at in range(0, len(body), piece))
    for sends in ((Send(head.data + body.encode()),), (head, *pieces)):
        fields, *rest = translate(Script(sends, 200), bodyless=False)
        assert fields == [(b":status", b"200")]
        assert b"".join(action for action in rest if isinstance(action, bytes)) == data.encode()
        assert rest[-1] is end


@pytest.mark.parametrize("length", ["banana", "-1", "", "1, 2", "5\r\nContent-Length: 6", "9" * 5_000])
def test_a_length_that_is_none_fails_even_clients_that_ignore_it(length: str) -> None:
    script = Script((Send(f"HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\nhello".encode()), Close()), 200)
    for bodyless in (True, False):
        assert list(translate(script, bodyless=bodyless))[1:] == [ErrorCodes.PROTOCOL_ERROR]


def test_a_connection_reset_for_its_reuse_is_answered_when_new(hosted: Hosted) -> None:
    page = hosted.curl("-o", os.devnull, "-w", "%{http_code} ", paths=("/x/found/1", "/x/reset-reused/1"))
    assert page.returncode == 0, page.stderr
    assert b"reset-reused 1" in page.stdout


def test_a_fault_leaves_other_streams_alone(hosted: Hosted) -> None:
    page = hosted.curl("--no-fail-early", "-w", "%{num_connects}", paths=("/x/garbage/2", "/x/found/after-garbage"))
    assert page.stdout.startswith(b"1<!DOCTYPE html>")
    assert page.stdout.endswith(b"</html>\n0")


def test_heads_may_come_one_after_the_other(hosted: Hosted) -> None:
    page = hosted.curl("-i", paths=("/endless-hints",)).stdout
    assert page.count(b"HTTP/2 103") == 2
    assert page.endswith(b"\r\n\r\nok")


@pytest.mark.parametrize("name", ["stall", "stall-body", "drip"])
def test_stalls_last_as_long_as_the_client(hosted: Hosted, name: str) -> None:
    path = f"/x/{name}/1"
    assert hosted.curl("-m", "0.5", paths=(path,)).returncode == 28
    line = hosted.logged(path)
    assert line.end - line.start < 5


def test_an_endless_body_costs_bounded_memory(hosted: Hosted) -> None:
    path = "/x/body-endless/1"
    before = _resident_bytes()
    with ThreadPoolExecutor() as pool:
        slow = pool.submit(hosted.curl, "-m", "2", "--limit-rate", "50k", paths=(path,))
        fast = hosted.curl("-m", "2", "-o", os.devnull, "-w", "%{size_download}", paths=(path + "?fast",))
        assert slow.result().returncode == 28
    assert fast.returncode == 28
    assert int(fast.stdout) > 10_000_000
    assert hosted.logged(path).bytes < 50_000_000
    assert hosted.logged(path + "?fast").bytes > int(fast.stdout)
    assert _resident_bytes() - before < 40_000_000


def test_streams_are_dropped_with_their_connection(hosted: Hosted) -> None:
    hosted.until(lambda: not any(connection.busy for connection in hosted.service.connections))


async def _converse(port: int, client: H2Connection, more: bytes = b"", *, strict: bool = True) -> list[Event]:
    """Send what the client has to say, and more; returns all that comes until the server closes, if it can be read."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_alpn_protocols(["h2"])
    reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
    writer.write(client.data_to_send() + more)
    answer = await asyncio.wait_for(reader.read(), 10)
    writer.close()
    await writer.wait_closed()
    return client.receive_data(answer) if strict else []


def _goaways(seen: list[Event]) -> list[int | None]:
    return [event.error_code for event in seen if isinstance(event, ConnectionTerminated)]


def test_nonsense_closes_the_connection_with_a_goaway(hosted: Hosted) -> None:
    client = H2Connection(H2Configuration())
    client.initiate_connection()
    rst_stream_of_no_stream = b"\0\0\4\3\0\0\0\0\0\0\0\0\0"
    seen = asyncio.run(_converse(hosted.port, client, rst_stream_of_no_stream))
    assert _goaways(seen) == [ErrorCodes.PROTOCOL_ERROR]


def test_no_frames_upset_the_server(hosted: Hosted) -> None:
    """Frames of every kind, with random flags, streams and payloads. The server answers or closes, and lives on."""
    dice = random.Random(1)  # noqa: S311 - nothing is secret here
    upset: list[dict[str, Any]] = []
    hosted.loop.set_exception_handler(lambda _, context: upset.append(context))
    for _ in range(100):
        client = H2Connection(H2Configuration())
        client.initiate_connection()
        frames = b""
        for _ in range(6):
            payload = dice.randbytes(dice.choice((0, 4, 5, 8, 30)))
            head = len(payload).to_bytes(3, "big") + bytes((dice.randrange(11), dice.choice((0, 1, 4, 5, 36, 255))))
            frames += head + dice.randrange(6).to_bytes(4, "big") + payload
        # The last frame is wrong on any stream, so that every conversation ends.
        asyncio.run(_converse(hosted.port, client, frames + b"\0\0\4\3\0\0\0\0\0\0\0\0\0", strict=False))
    assert upset == []
    assert hosted.curl().returncode == 0


def test_close_says_goaway(hosted: Hosted) -> None:
    def busy() -> list[Connection]:
        return [connection for connection in hosted.service.connections if connection.busy]

    async def close() -> None:
        for connection in busy():
            connection.close()

    client = H2Connection(H2Configuration())
    client.initiate_connection()
    pseudo = ((":method", "GET"), (":scheme", "https"), (":authority", HOST), (":path", "/x/stall/9"))
    client.send_headers(1, list(pseudo), end_stream=True)
    with ThreadPoolExecutor() as pool:
        asked = pool.submit(lambda: asyncio.run(_converse(hosted.port, client)))
        hosted.until(lambda: bool(busy()))
        hosted.do(close())
        assert _goaways(asked.result()) == [ErrorCodes.NO_ERROR]
    assert hosted.logged("/x/stall/9").served == "stall"
