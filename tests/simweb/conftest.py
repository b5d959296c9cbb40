"""A small simulated web, served for the whole session, and plain clients to look at it with."""

import asyncio
import json
import re
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import uvloop

from whimbrel.simweb.host import SimHost
from whimbrel.simweb.server.control import ask
from whimbrel.simweb.server.listen import ListenError
from whimbrel.simweb.server.log import LoggedExchange, read_log
from whimbrel.simweb.server.serve import RunningWeb, ServeOptions, free_ports, serving
from whimbrel.simweb.spec import WebSpec
from whimbrel.simweb.web import Web

MAX_TIME_S = "5"


@dataclass(frozen=True)
class Transfer:
    """What curl says of one URL: how often it connected, how long it took, where redirects led."""

    connects: int
    redirects: int
    total_s: float
    url: str


@dataclass(frozen=True)
class Seen:
    """What curl saw. Of several URLs or redirects, `status`, `http` and `headers` are those of the last answer."""

    exit_code: int
    status: int
    http: str
    headers: tuple[tuple[str, str], ...]
    body: bytes
    head: str
    """Every header block as received."""
    transfers: tuple[Transfer, ...]
    errors: str

    def header(self, name: str) -> str | None:
        return next(iter(self.all(name)), None)

    def all(self, name: str) -> list[str]:
        return [value for known, value in self.headers if known.lower() == name.lower()]


@dataclass(frozen=True)
class Dug:
    """What dig saw. Without an answer, `status` is empty."""

    status: str
    answer: tuple[tuple[str, int, str, str], ...]
    """Owner, TTL, type, data."""
    text: str

    @property
    def addresses(self) -> list[str]:
        return [data for _, _, kind, data in self.answer if kind in ("A", "AAAA")]


@dataclass(frozen=True)
class Served:
    """A web that is being served, and clients that ask it. Names are resolved from the web's own knowledge."""

    running: RunningWeb
    web: Web

    @property
    def plain(self) -> SimHost:
        """An ordinary host on http."""
        return next(host for host in map(self.web.hosts.get, range(self.web.spec.hosts)) if host.scheme == "http")

    def host(self, label: str) -> SimHost:
        """A host by its name, or by its label under `exhibit.SUFFIX`."""
        name = label if "." in label else f"{label}.exhibit.{self.web.spec.suffix}"
        host = self.web.hosts.find(name)
        assert host is not None, name
        return host

    def url(self, label: str, path: str = "/") -> str:
        return self.host(label).origin + path

    def resolve(self, url: str) -> tuple[str, str]:
        """The option that tells curl where a URL's host is; hosts that do not exist are sent to 127.0.0.1."""
        parts = urlsplit(url)
        host = self.web.hosts.find(parts.hostname or "")
        addresses = ",".join(host.addresses) if host else "127.0.0.1"
        return "--resolve", f"{parts.hostname}:{parts.port}:{addresses}"

    def curl(self, url: str, *options: str) -> Seen:
        """Further URLs among the options need `--resolve` and `-o` of their own."""
        if shutil.which("curl") is None:
            pytest.skip("curl is not installed")
        with tempfile.TemporaryDirectory() as folder:
            head, body = Path(folder, "head"), Path(folder, "body")
            wanted = ("-sS", "--http1.1", "--path-as-is", "-m", MAX_TIME_S, "-w", "%{json}\n", "-D", str(head))
            where = ("--noproxy", "*", "--cacert", self.running.ca, *self.resolve(url))
            done = subprocess.run(
                ["curl", *wanted, *where, "-o", str(body), url, *options],
                capture_output=True,
                text=True,
                timeout=30,
                check=False,
            )
            return _seen(done, _read(head).decode("latin-1"), _read(body))

    def dig(self, name: str, *options: str) -> Dug:
        if shutil.which("dig") is None:
            pytest.skip("dig is not installed (package bind9-dnsutils)")
        shown = ("+time=2", "+tries=1", "+nocookie", "+noall", "+comments", "+answer", "+stats")
        command = ["dig", "@127.0.0.1", "-p", str(self.running.dns_port), *shown, name, *options]
        return _dug(subprocess.run(command, capture_output=True, text=True, timeout=20, check=False).stdout)

    def log(self) -> list[LoggedExchange]:
        """The access log until now."""
        ask(Path(self.running.control), {"do": "status"})
        return read_log(Path(self.running.log))


def _read(path: Path) -> bytes:
    return path.read_bytes() if path.exists() else b""


def _seen(done: subprocess.CompletedProcess[str], head: str, body: bytes) -> Seen:
    blocks = [block.split("\r\n") for block in head.split("\r\n\r\n") if block]
    lines = blocks[-1] if blocks else [""]
    fields = [line.partition(":") for line in lines[1:]]
    said = [json.loads(line) for line in done.stdout.splitlines()]
    return Seen(
        exit_code=done.returncode,
        status=said[-1]["http_code"],
        http=lines[0].partition(" ")[0],
        headers=tuple((name, value.strip()) for name, _, value in fields),
        body=body,
        head=head,
        transfers=tuple(
            Transfer(one["num_connects"], one["num_redirects"], one["time_total"], one["url_effective"]) for one in said
        ),
        errors=done.stderr,
    )


def _dug(text: str) -> Dug:
    status = re.search(r"status: (\w+)", text)
    section = text.partition(";; ANSWER SECTION:\n")[2].partition("\n\n")[0]
    records = [line.split(maxsplit=4) for line in section.splitlines()]
    return Dug(
        status=status[1] if status else "",
        answer=tuple((name, int(ttl), kind, data) for name, ttl, _, kind, data in records),
        text=text,
    )


@contextmanager
def served(spec: WebSpec, directory: Path) -> Iterator[Served]:
    """Serve a web on free ports, from an event loop in a thread of its own."""
    for _ in range(9):
        with suppress(ListenError):  # A client took the port in the meantime.
            web, server = _start(spec, directory)
            break
    else:
        web, server = _start(spec, directory)
    try:
        yield Served(server.running, web)
    finally:
        server.loop.call_soon_threadsafe(server.enough.set)
        server.thread.join(20)


@dataclass(frozen=True)
class _Server:
    running: RunningWeb
    thread: threading.Thread
    loop: asyncio.AbstractEventLoop
    enough: asyncio.Event


def _start(spec: WebSpec, directory: Path) -> tuple[Web, _Server]:
    spec, dns_port = free_ports(spec)
    web = Web(spec)
    options = ServeOptions(directory, dns_port, log=directory / "access.log")
    started: Future[_Server] = Future()

    async def serve() -> None:
        loop, enough = asyncio.get_running_loop(), asyncio.Event()
        try:
            async with serving(web, options) as running:
                started.set_result(_Server(running, thread, loop, enough))
                await enough.wait()
        except ListenError as error:
            started.set_exception(error)

    def run() -> None:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(serve())

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return web, started.result(20)


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Twelve hosts, half of them on https, no trouble among them; exhibits have their places on all of them."""
    with served(WebSpec(hosts=12, pages=60, https=0.5), tmp_path_factory.mktemp("simweb")) as web:
        yield web
