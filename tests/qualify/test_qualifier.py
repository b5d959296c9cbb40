"""The component, in a job, on a simulated web."""

import asyncio
from typing import ClassVar

from tests.qualify.rig import QUICK, OpenGate, name_of, run
from tests.sim.web import Served
from whimbrel.clock import SystemClock
from whimbrel.fetch.curl import CurlTransport
from whimbrel.fetch.resolver import DnsResolver
from whimbrel.flow import (
    Async,
    ComponentSpec,
    Config,
    ConnectorSpec,
    Job,
    Out,
    Provider,
    ProviderSpec,
    Report,
    Wiring,
    check,
)
from whimbrel.qualify.api import HostDue, Qualification
from whimbrel.qualify.qualifier import Qualifier
from whimbrel.visit import HostName


class SourceConfig(Config, frozen=True):
    origins: tuple[str, ...] = ()


class Source(Async):
    """Every host once for a qualification and once more for its addresses only."""

    Config = SourceConfig
    due = Out(HostDue)
    known: ClassVar = Qualification("qualified", 9e9, ("127.0.0.9",), 0.0, failures=7)

    async def run(self) -> None:
        for origin in self.config.origins:
            await self.due.put(HostDue(name_of(origin), None, addresses_only=False))
            await self.due.put(HostDue(name_of(origin), self.known, addresses_only=True))


class Noted(Provider):
    def __init__(self, config: object = None) -> None:
        super().__init__(config)
        self.qualifications: dict[str, Qualification] = {}
        self.refreshes: dict[str, Qualification] = {}

    def qualified(self, host: HostName, found: Qualification) -> None:
        self.qualifications[host.site] = found

    def refreshed(self, host: HostName, found: Qualification) -> None:
        self.refreshes[host.site] = found

    def unqualified(self, host: HostName) -> None:
        raise AssertionError(f"{host.site} is not blocked")


def test_the_component_qualifies_many_hosts_at_once_but_no_more_than_it_may(web: Served) -> None:
    hosts = [web.web.hosts.get(number) for number in range(web.web.spec.hosts)]
    noted, gate = Noted(), OpenGate()
    server = f"127.0.0.1:{web.running.dns_port}"
    needs = {name: name for name in ("hosts", "gate", "resolver", "transport", "clock")}
    transport = {"allow_networks": ["127.0.0.0/8"], "ca": web.running.ca, **QUICK}
    wiring = Wiring(
        "qualify",
        (
            ComponentSpec("source", Source, {"origins": [host.origin for host in hosts]}),
            ComponentSpec("qualifier", Qualifier, {"parallel": 8, "pause_s": 0.02}, needs),
        ),
        (ConnectorSpec("source.due", "qualifier.due"),),
        (
            *(ProviderSpec("hosts", Noted), ProviderSpec("gate", OpenGate), ProviderSpec("clock", SystemClock)),
            ProviderSpec("resolver", DnsResolver, {"server": server}, {"clock": "clock"}),
            ProviderSpec("transport", CurlTransport, transport, {"clock": "clock"}),
        ),
    )

    async def scene() -> Report:
        async with asyncio.timeout(30):
            return await Job(check(wiring), providers={"hosts": noted, "gate": gate}).run()

    report = run(scene())
    assert report.exit_code == 0, report.lines()
    assert len(noted.qualifications) == len(noted.refreshes) == len(hosts)
    for host in hosts:
        site = name_of(host.origin).site
        assert noted.qualifications[site].addresses == noted.refreshes[site].addresses == host.addresses
        assert (noted.qualifications[site].failures, noted.refreshes[site].failures) == (0, 7)
    assert 1 < gate.most <= 8
    assert gate.inside == 0
