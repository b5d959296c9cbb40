"""Start every server of a simulated web, say where it is, stop it in good order."""

import asyncio
import os
import resource
import secrets
import socket
import ssl
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from whimbrel.simweb.clock import VirtualClock
from whimbrel.simweb.host import SimHosts
from whimbrel.simweb.server.control import ControlSocket, address, answers
from whimbrel.simweb.server.http1 import Http1
from whimbrel.simweb.server.listen import (
    BACKLOG,
    ListenError,
    dead,
    every_loopback,
    loopback_udp,
    refuse_taken,
    refused,
)
from whimbrel.simweb.server.log import AccessLog
from whimbrel.simweb.server.service import Service, Site, WebSite
from whimbrel.simweb.spec import WebSpec
from whimbrel.simweb.web import Web

if TYPE_CHECKING:
    import subprocess

    from whimbrel.simweb.snapshot import WarcWeb

_SWEEP_S: Final = 0.5
_START_S: Final = 20.0
_PORT_TRIES: Final = 100


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """`directory` receives the certificate authority (`ca.pem`), the control socket and `simweb.json`."""

    directory: Path
    dns_port: int = 18_053
    log: Path | None = None
    real_time: bool = False
    """The clock follows real time instead of standing still."""


class RunningWeb(msgspec.Struct, frozen=True, kw_only=True):
    """Where a running web is; written to `simweb.json` so that other commands find it."""

    http_port: int
    https_port: int
    refused_port: int
    """Nobody listens there."""
    dns_port: int
    seeds: list[str]
    ca: str
    control: str
    log: str

    def ports(self) -> dict[str, int]:
        """The keys of the specification that a start on free ports has changed."""
        return {"http_port": self.http_port, "https_port": self.https_port, "refused_port": self.refused_port}


def free_ports(spec: WebSpec) -> tuple[WebSpec, int]:
    """The same web on ports that are free now, and a port for DNS: for tests and demonstrations.

    They lie below the range from which the system gives ports to clients, one of which could take them meanwhile.
    """
    for _ in range(_PORT_TRIES):
        first = 20_000 + secrets.randbelow(12_000)
        with ExitStack() as held:
            try:
                for port in range(first, first + 4):
                    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
                        held.enter_context(socket.socket(socket.AF_INET, kind)).bind(("0.0.0.0", port))
            except OSError:
                continue
        http, https, nobody, dns = range(first, first + 4)
        return msgspec.structs.replace(spec, http_port=http, https_port=https, refused_port=nobody), dns
    raise ListenError("no four free ports in a row between 20000 and 32000")


@asynccontextmanager
async def serving(web: Web, options: ServeOptions) -> AsyncIterator[RunningWeb]:
    """Serve a simulated web over http, https and DNS for as long as the context lasts."""
    spec = web.spec
    clock = VirtualClock(spec.epoch_s, running=options.real_time)
    _allow_many_files()
    refuse_taken(spec.http_port, spec.https_port, options.dns_port)
    async with AsyncExitStack() as stack:
        service = await stack.enter_async_context(_service(WebSite(web), clock, options, spec.codings))
        for port in (spec.http_port, spec.https_port):
            for sock in dead(port):
                stack.callback(sock.close)
        stack.callback(refused(spec.refused_port).close)
        ports = (spec.http_port, spec.https_port)
        yield await _listening(stack, service, web.hosts, ports, options, web.seed_urls())


@asynccontextmanager
async def serving_snapshot(
    snapshot: "WarcWeb", options: ServeOptions, *, http_port: int, https_port: int
) -> AsyncIterator[RunningWeb]:
    """Serve what is stored in WARC files over http, https and DNS for as long as the context lasts.

    Bodies keep the coding they are stored in, whatever the client accepts.
    """
    from whimbrel.simweb.snapshot import SnapshotHosts

    hosts = SnapshotHosts(snapshot.hosts(), http_port, https_port)
    clock = VirtualClock(hosts.spec.epoch_s, running=options.real_time)
    _allow_many_files()
    refuse_taken(http_port, https_port, options.dns_port)
    async with AsyncExitStack() as stack:
        stack.callback(snapshot.close)
        service = await stack.enter_async_context(_service(snapshot, clock, options, ()))
        seeds = [hosts.served_at(url) for url in snapshot.urls()[:1]]
        yield await _listening(stack, service, hosts, (http_port, https_port), options, seeds)


def _allow_many_files() -> None:
    """Every waiting connection is an open file, and many systems start a process with a limit of 1,024."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


async def _listening(
    stack: AsyncExitStack,
    service: Service,
    hosts: SimHosts,
    ports: tuple[int, int],
    options: ServeOptions,
    seeds: list[str],
) -> RunningWeb:
    """Open every port and say so in `simweb.json`."""
    # Imported here: they need the `bench` extra.
    from whimbrel.simweb.dns import DnsTcp, DnsUdp, NameServer
    from whimbrel.simweb.server.certificate import Authority, server_context

    authority, resolver = Authority(options.directory), NameServer(hosts)
    await _listen(stack, lambda: Http1(service, "http"), every_loopback(ports[0]))
    await _listen(stack, lambda: Negotiated(service), every_loopback(ports[1]), server_context(authority, hosts))
    udp, _ = await asyncio.get_running_loop().create_datagram_endpoint(
        lambda: DnsUdp(resolver), sock=loopback_udp(options.dns_port)
    )
    stack.callback(udp.close)
    await _listen(stack, lambda: DnsTcp(resolver), every_loopback(options.dns_port))
    running = RunningWeb(
        http_port=ports[0],
        https_port=ports[1],
        refused_port=hosts.spec.refused_port,
        dns_port=options.dns_port,
        seeds=seeds,
        ca=str(authority.path),
        control=str(control_path(options.directory)),
        log=str(options.log or ""),
    )
    write_running(options.directory, running)
    return running


def control_path(directory: Path) -> Path:
    return directory / "control.sock"


def write_running(directory: Path, running: RunningWeb) -> None:
    """Put `simweb.json` in place in one step, so that whoever waits for it reads it whole."""
    draft = directory / "simweb.json.tmp"
    draft.write_bytes(msgspec.json.format(msgspec.json.encode(running)))
    draft.rename(directory / "simweb.json")


def await_running(server: "subprocess.Popen[Any]", directory: Path) -> RunningWeb:
    """Wait until a `simweb serve` that was started as a process says where it is; ListenError when it does not."""
    path = directory / "simweb.json"
    deadline = time.monotonic() + _START_S
    while not path.exists():
        if server.poll() is not None or time.monotonic() > deadline:
            raise ListenError("the simulated web did not start; it says why above")
        time.sleep(0.02)
    return msgspec.json.decode(path.read_bytes(), type=RunningWeb)


class Negotiated(asyncio.Protocol):
    """A TLS connection that becomes HTTP/2 or HTTP/1.1, as the client chose in the handshake."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._opened_s = service.pulse.since_s

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        from whimbrel.simweb.server.http2 import Http2

        chosen = transport.get_extra_info("ssl_object").selected_alpn_protocol()
        opened_s = self._opened_s
        protocol = Http2(self._service, opened_s) if chosen == "h2" else Http1(self._service, "https", opened_s)
        transport.set_protocol(protocol)
        protocol.connection_made(transport)


@asynccontextmanager
async def _service(
    site: Site, clock: VirtualClock, options: ServeOptions, codings: tuple[str, ...]
) -> AsyncIterator[Service]:
    """The shared state, its control socket, and the sweeper that closes idle connections and flushes the log."""
    options.directory.mkdir(parents=True, exist_ok=True)
    path = control_path(options.directory)
    if answers(path):
        raise ListenError(f"a simulated web runs from {options.directory} already; choose another with --state")
    path.unlink(missing_ok=True)
    (options.directory / "simweb.json").unlink(missing_ok=True)
    with AccessLog(options.log) as log:
        service = Service(site, clock, log, codings)
        others = os.umask(0o177)
        try:
            with address(path) as name:
                control = await asyncio.start_unix_server(ControlSocket(service).handle, name)
        finally:
            os.umask(others)
        tasks = [asyncio.create_task(_sweep(service)), asyncio.create_task(service.pulse.beat())]
        try:
            yield service
        finally:
            for task in tasks:
                task.cancel()
            control.close()
            for connection in tuple(service.connections):
                connection.close()
            path.unlink(missing_ok=True)


async def _sweep(service: Service) -> None:
    while True:
        await asyncio.sleep(_SWEEP_S)
        service.log.flush()
        now = time.monotonic()
        for connection in tuple(service.connections):
            if not connection.busy and now - connection.idle_since > connection.idle_s:
                connection.close()


async def _listen(
    stack: AsyncExitStack,
    factory: Callable[[], asyncio.Protocol],
    sock: socket.socket,
    context: ssl.SSLContext | None = None,
) -> None:
    server = await asyncio.get_running_loop().create_server(factory, sock=sock, ssl=context, backlog=BACKLOG)
    stack.callback(server.close)
