"""Requests to the control interface of a crawl that runs. It is in a network of its own: an input may be a seed."""

import errno
import http.server
import json
import select
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from random import Random
from typing import Any, Final
from urllib.parse import urlsplit

from tests.frontier.rig import quick_directory
from tests.fuzz.api import Read, Target
from tests.fuzz.target.loopback_only import leave_network
from whimbrel.control.address import Address, read_address
from whimbrel.control.api import ControlError

_PATIENCE_S: Final = 50.0
_MOST_KB: Final = 1_000_000
_ENDS: Final = (0, 3)
"""Exit codes of a crawl that is done, or was told to stop."""
_UNFINISHED_S: Final = 0.3
"""How long an answer is waited for before our end is closed: a request may have no end."""
_STATUS: Final = (
    b"GET /v1/status HTTP/1.1\r\nHost: {HOST}\r\nAuthorization: Bearer {TOKEN}\r\nConnection: close\r\n\r\n"
)


class _Site(http.server.BaseHTTPRequestHandler):
    """A tree of pages without an end, so that the crawl has none either."""

    def do_GET(self) -> None:
        found = self.path != "/robots.txt"
        number = int(self.path[1:]) if self.path[1:].isdecimal() else 1
        body = f"<a href=/{2 * number}>a</a><a href=/{2 * number + 1}>b</a>".encode() if found else b""
        self.send_response(200 if found else 404)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


class _Crawl:
    """A crawl that is begun again when it has come to its end."""

    def __init__(self, seed: str, folder: Path) -> None:
        self._seed = seed
        self._folder = folder
        self._count = 0
        self._process: subprocess.Popen[bytes] | None = None
        self.address = self._begun()

    def _begun(self) -> Address:
        self._count += 1
        into = self._folder / str(self._count)
        command = [sys.executable, "-m", "whimbrel", "crawl", self._seed, "--into", str(into), "--delay", "2s"]
        with (self._folder / "said").open("wb") as said:
            self._process = subprocess.Popen(command, stdout=said, stderr=said, cwd=self._folder)
        end_s = time.monotonic() + _PATIENCE_S
        while time.monotonic() < end_s:
            with suppress(ControlError):
                self.address = read_address(into)
                if b'"state":"running"' in self.answer(_STATUS):
                    return self.address
            time.sleep(0.05)
        raise TimeoutError("the crawl cannot be reached")

    def check(self) -> None:
        """It answers, in little memory; or it was told to end."""
        process = self._process
        assert process is not None
        answer = self.answer(_STATUS)
        if answer.startswith(b"HTTP/1.1 200"):
            status = Path(f"/proc/{process.pid}/status").read_text(encoding="ascii")
            used_kb = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))
            assert used_kb < _MOST_KB, f"{used_kb:,} KB"
            return
        code = process.wait(_PATIENCE_S)
        assert code in _ENDS, f"exit code {code}: {(self._folder / 'said').read_text()[-3000:]}"
        self.address = self._begun()

    def answer(self, request: bytes) -> bytes:
        """The first bytes of what comes back; empty when the connection is closed or refused."""
        where = urlsplit(self.address.url)
        try:
            with socket.create_connection((where.hostname or "", where.port or 0), timeout=_PATIENCE_S) as connection:
                connection.sendall(self._filled(request))
                found = b""
                select.select([connection], [], [], _UNFINISHED_S)
                connection.shutdown(socket.SHUT_WR)
                while len(found) < 500 and (piece := connection.recv(500)):
                    found += piece
                return found
        except OSError as error:
            if isinstance(error, ConnectionError) or error.errno == errno.ENOTCONN:
                return b""
            raise

    def _filled(self, request: bytes) -> bytes:
        """With our address, the token, and the length that the body has."""
        length = len(request.partition(b"\r\n\r\n")[2])
        for name, value in (
            ("HOST", urlsplit(self.address.url).netloc),
            ("TOKEN", self.address.token),
            ("LENGTH", length),
        ):
            request = request.replace(f"{{{name}}}".encode(), str(value).encode())
        return request

    def end(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()


@contextmanager
def opened() -> Iterator[Read]:
    leave_network()
    with quick_directory() as folder, http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Site) as site:
        threading.Thread(target=site.serve_forever, daemon=True).start()
        crawl = _Crawl(f"http://127.0.0.1:{site.server_address[1]}/", folder)

        def read(data: bytes) -> None:
            answer = crawl.answer(data)
            status = answer.partition(b" ")[2][:3]
            assert not status.startswith(b"5"), answer
            crawl.check()

        try:
            yield read
        finally:
            crawl.end()
            site.shutdown()


_WORDS: Final = (
    *(b"POST /v1/actions/", b"GET /v1/hosts?most=1&order=host&search=", b"GET /v1/history?most=10", b"GET /metrics"),
    *(
        b"pause",
        b"unpause",
        b"checkpoint",
        b"speed",
        b"block",
        b"unblock",
        b"allow",
        b"seed",
        b"requeue",
        b"set",
        b"bind",
    ),
    *(
        b"add",
        b"remove",
        b'{"what": ["a.test"]}',
        b'{"urls": ["http://127.0.0.1:9/"]}',
        b'{"pages_per_s": 1e9}',
        b"null",
    ),
    *(
        b'{"settings": {"order": "depth"}}',
        b'"router.max_depth": 3',
        b'"parser.use": "parser"',
        b'"frontier.agent": "x"',
    ),
    *(
        b'{"provider": "seen", "use": "rocks-seen"}',
        b'"delay_s": "default"',
        b'"of": "127.0.0.1"',
        b"{HOST}",
        b"{TOKEN}",
    ),
    *(
        b'{"host": "127.0.0.1"}',
        b'{"outcome": "gone", "most": 1}',
        b"\r\n",
        b"[",
        b"{",
        b'"',
        b"\\ud800",
        b"\\u0000",
        b"-1",
    ),
    *(
        b"Transfer-Encoding: chunked\r\n",
        b"Expect: 100-continue\r\n",
        b"Content-Length: {LENGTH}\r\n",
        b"Upgrade: h2c\r\n",
    ),
    *(
        b"Origin: null\r\n",
        b"Connection: close\r\n",
        b"HTTP/1.0",
        b"%2e%2e/",
        b"X-Whimbrel-Caller: \xff\r\n",
        b"*",
        b"?",
        b"1e400",
    ),
)
_VALUES: Final[tuple[Any, ...]] = (
    *(0, 1, -1, 5, 1e9, 10**30, 0.5, True, None, "", "x", "default", "127.0.0.1", "http://127.0.0.1:9/a", "a.test/*"),
    *("seen", "bloom-seen", "parser", "router", "gate", "frontier.agent", "depth", "\x00\n", "\U0001f600", "a" * 2_000),
    *("router.out", "parser.parsed", "../x", "/", "failed", "timeout", "'", [], {}, ["a.test"], [[1]], {"a": {"b": 1}}),
)
_FIELDS: Final = {
    "pause": "",
    "unpause": "",
    "checkpoint": "",
    "speed": "pages_per_s bytes_per_s connections delay_s of",
    "block": "what",
    "unblock": "what",
    "allow": "host without_robots",
    "seed": "urls",
    "requeue": "outcome host most",
    "set": "settings",
    "bind": "provider use config",
    "add": "name use config needs instances place connectors parts",
    "remove": "name connectors",
}
_LISTS: Final = ("what", "urls")
_TABLES: Final = ("settings", "config", "needs")
_SETTINGS: Final = (
    *(
        "order",
        "max_pages",
        "delay",
        "delays",
        "connections",
        "max_depth",
        "scope",
        "block",
        "seeds",
        "mode",
        "wiring",
        "include",
        "exclude",
        "headers",
    ),
    *("user_agent", "cookies", "max_rate", "max_pages_per_s", "allow_network", "x.y", "archive", "router.max_depth"),
    *("parser.max_links", "parser.use", "gate.delay_s", "frontier.park_s", "seen.use", "parser.instances"),
    *(
        "transport.cookies",
        "transport.headers",
        "transport.kept",
        "resolver.server",
        "journal.reserve_bytes",
        "effects.max_tries",
    ),
)


def made_up(dice: Random) -> bytes:
    """An action with fields of the right names, mostly."""
    action, names = dice.choice(list(_FIELDS.items()))
    fields = {name: _value(dice, name) for name in names.split() if dice.random() < 0.8}
    head = f"POST /v1/actions/{action} HTTP/1.1\r\nHost: {{HOST}}\r\nAuthorization: Bearer {{TOKEN}}\r\n"
    more = "Content-Type: application/json\r\nContent-Length: {LENGTH}\r\nConnection: close\r\n\r\n"
    return (head + more + json.dumps(fields)).encode()


def _value(dice: Random, name: str) -> Any:
    plain = dice.choice(_VALUES)
    if name in _LISTS:
        return [dice.choice(_VALUES[10:25]) for _ in range(dice.randrange(1, 3))]
    if name in _TABLES:
        return {dice.choice(_SETTINGS): dice.choice(_VALUES) for _ in range(dice.randrange(1, 3))}
    if name in ("connectors", "parts"):
        return [{"from": dice.choice(("parser.parsed", "router.routed", "x.y")), "to": "archivist.routed"}]
    return plain


TARGET: Final = Target("control", opened, _WORDS, make_up=made_up, quick_inputs=40)
