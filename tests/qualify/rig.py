"""What the tests of qualification share: real transport and DNS, and a gate that writes down who passes."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from functools import cache
from typing import Any, NamedTuple, TypeVar

import uvloop

from tests.sim.web import Served
from whimbrel.clock import SystemClock
from whimbrel.fetch.api import Resolver
from whimbrel.fetch.curl import CurlTransport
from whimbrel.fetch.curl_option import CurlConfig
from whimbrel.fetch.resolver import DnsConfig, DnsResolver
from whimbrel.flow import Provider
from whimbrel.qualify.procedure import Procedure
from whimbrel.qualify.robots_policy import QualifyConfig
from whimbrel.url import Domains, Url, parse
from whimbrel.visit import HostName

T = TypeVar("T")
QUICK: dict[str, Any] = {"connect_timeout_s": 0.5, "first_byte_timeout_s": 0.5, "idle_timeout_s": 0.5, "timeout_s": 3.0}


class Passage(NamedTuple):
    site: str
    address: str
    own: bool
    status: int


class OpenGate(Provider):
    """Lets everybody pass, and knows who is inside."""

    def __init__(self, config: object = None) -> None:
        super().__init__(config)
        self.passages: list[Passage] = []
        self.inside = 0
        self.most = 0

    async def enter(self, host: HostName, address: str, *, own: bool) -> None:
        self.inside += 1
        self.most = max(self.most, self.inside)

    def sent(self, url: Url, address: str) -> None:
        """It has no clocks."""

    def landed(self, address: str) -> None:
        """Nor here."""

    def leave(
        self,
        host: HostName,
        address: str,
        elapsed_s: float,
        *,
        own: bool,
        status: int = 0,
        retry_after_s: float = 0.0,
    ) -> None:
        self.inside -= 1
        self.passages.append(Passage(host.site, address, own, status))


def run(scene: Coroutine[Any, Any, T]) -> T:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(scene)


@cache
def domains() -> Domains:
    """Once: reading the list takes a while, in which nobody answers a socket."""
    return Domains()


def name_of(origin: str) -> HostName:
    url = parse(origin)
    assert url is not None
    return HostName(url.site, url.scheme, url.host, url.port, domains().registered(url.host))


def exhibit(web: Served, label: str) -> HostName:
    host = web.web.hosts.find(f"{label}.exhibit.test")
    assert host is not None, label
    return name_of(host.origin)


@asynccontextmanager
async def transport(**options: Any) -> AsyncIterator[CurlTransport]:
    made = CurlTransport(CurlConfig(**{"allow_networks": ("127.0.0.0/8",), **QUICK, **options}))
    made.bind("clock", SystemClock())
    await made.open()
    try:
        yield made
    finally:
        await made.close()


@asynccontextmanager
async def names(web: Served) -> AsyncIterator[DnsResolver]:
    """Forgets failures at once, so that a host can recover within a test."""
    server = f"127.0.0.1:{web.running.dns_port}"
    made = DnsResolver(DnsConfig(server=server, timeout_s=1.5, failure_ttl_s=0.0))
    made.bind("clock", SystemClock())
    await made.open()
    try:
        yield made
    finally:
        await made.close()


def procedure(resolver: Resolver, made: CurlTransport, gate: OpenGate, **config: Any) -> Procedure:
    settings = QualifyConfig(**{"pause_s": 0.02, **config})
    clock = SystemClock()
    return Procedure(settings, resolver=resolver, transport=made, gate=gate, clock=clock, domains=domains())


@asynccontextmanager
async def qualifying(web: Served, **config: Any) -> AsyncIterator[tuple[Procedure, OpenGate]]:
    """A procedure on a simulated web."""
    gate = OpenGate()
    async with names(web) as resolver, transport(ca=web.running.ca) as made:
        yield procedure(resolver, made, gate, **config), gate
    assert gate.inside == 0, "everybody who entered has left"
