"""What every resolver promises: by DNS, and from a configuration."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from ipaddress import ip_address

import pytest

from tests.sim.web import Served, serve
from whimbrel.clock import SystemClock
from whimbrel.fetch.api import Resolution, Resolver
from whimbrel.fetch.resolver import DnsConfig, DnsResolver, StaticConfig, StaticResolver
from whimbrel.simweb.spec import WebSpec

LONGEST_S = 6 * 3600.0
Opened = Callable[[Served], AbstractAsyncContextManager[Resolver]]


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    spec = WebSpec(hosts=10, pages=2, robots={}, exhibits={})
    with serve(spec, tmp_path_factory.mktemp("resolver") / "web") as served:
        yield served


@asynccontextmanager
async def by_dns(web: Served) -> AsyncIterator[Resolver]:
    made = DnsResolver(DnsConfig(server=f"127.0.0.1:{web.running.dns_port}", timeout_s=5.0))
    made.bind("clock", SystemClock())
    await made.open()
    try:
        yield made
    finally:
        await made.close()


@asynccontextmanager
async def from_configuration(web: Served) -> AsyncIterator[Resolver]:
    hosts = [web.web.hosts.get(number) for number in range(10)]
    yield StaticResolver(StaticConfig(hosts={host.name: host.addresses for host in hosts}))


@pytest.fixture(params=[by_dns, from_configuration])
def opened(request: pytest.FixtureRequest) -> Opened:
    found: Opened = request.param
    return found


def ask(opened: Opened, web: Served, *names: str) -> list[Resolution]:
    async def scene() -> list[Resolution]:
        async with opened(web) as resolver:
            asked: list[Awaitable[Resolution]] = [resolver.resolve(name) for name in names]
            return list(await asyncio.gather(*asked))

    return asyncio.run(scene())


def test_a_name_has_its_addresses_for_a_time(opened: Opened, web: Served) -> None:
    hosts = [web.web.hosts.get(number) for number in range(10)]
    for host, found in zip(hosts, ask(opened, web, *(host.name for host in hosts)), strict=True):
        assert set(found.addresses) == set(host.addresses)
        assert 300.0 <= found.ttl_s <= LONGEST_S, "whatever the answer says"


@pytest.mark.parametrize("spelt", [str.upper, str.title, "{}.".format])
def test_case_and_a_trailing_dot_make_no_other_name(opened: Opened, web: Served, spelt: Callable[[str], str]) -> None:
    host = web.web.hosts.get(1)
    assert set(ask(opened, web, spelt(host.name))[0].addresses) == set(host.addresses)


@pytest.mark.parametrize("name", ["nobody.test", "a..b", "", ".", "x" * 300, "spaced name", "\udce9", "1.2.3.4.5"])
def test_a_name_without_an_address_has_none_and_raises_nothing(opened: Opened, web: Served, name: str) -> None:
    found = ask(opened, web, name)[0]
    assert found.addresses == ()
    assert found.ttl_s > 0


@pytest.mark.parametrize(
    ("literal", "address"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("2001:db8::1", "2001:db8::1"),
        ("[2001:db8::1]", "2001:db8::1"),
        ("[2001:DB8:0:0::1]", "2001:db8::1"),
        ("[::ffff:192.0.2.7]", str(ip_address("::ffff:192.0.2.7"))),
    ],
)
def test_an_address_is_read_and_nobody_is_asked(opened: Opened, web: Served, literal: str, address: str) -> None:
    found = ask(opened, web, literal)[0]
    assert found.addresses == (address,)
    assert 0 < found.ttl_s <= LONGEST_S
