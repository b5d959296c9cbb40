"""Names as the rest of the system reads them: the hosts file, `localhost`, and the domains to search in."""

import asyncio
import os
import socket
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.fetch.rig import run
from tests.fetch.test_resolver import HandClock
from whimbrel.fetch import hosts_file as hosts_file_module
from whimbrel.fetch.hosts_file import read_hosts
from whimbrel.fetch.resolver import DnsConfig, DnsResolver
from whimbrel.fetch.search_list import read_search

KNOWN = {"printer.corp.test": "192.0.2.1", "shop.test": "192.0.2.2", "shop.test.corp.test": "192.0.2.3"}
"""What the name server knows."""


class NameServer(asyncio.DatagramProtocol):
    def __init__(self) -> None:
        self.asked: list[str] = []
        self.silent: set[str] = set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport: Any = transport

    @property
    def port(self) -> int:
        found: int = self.transport.get_extra_info("sockname")[1]
        return found

    def datagram_received(self, data: bytes, address: Any) -> None:
        labels, at = [], 12
        while data[at]:
            labels.append(data[at + 1 : at + 1 + data[at]].decode())
            at += 1 + data[at]
        name, question = ".".join(labels).lower(), data[12 : at + 5]
        is_a = data[at + 1 : at + 3] == b"\0\1"
        if is_a:
            self.asked.append(name)
        if name in self.silent:
            return
        known = KNOWN.get(name)
        record = b""
        if known and is_a:
            record = b"\xc0\x0c\0\1\0\1\0\0\2\x58\0\4" + socket.inet_aton(known)
        code = b"\x81\x80" if known else b"\x81\x83"
        self.transport.sendto(
            data[:2] + code + b"\0\1\0" + bytes([bool(record)]) + b"\0" * 4 + question + record, address
        )


@asynccontextmanager
async def system(
    folder: Path, hosts: str = "", search: str = "", **more: Any
) -> AsyncIterator[tuple[DnsResolver, NameServer]]:
    """A resolver that takes these files for the system's, and a name server of its own."""
    (folder / "hosts").write_text(hosts)
    (folder / "resolv.conf").write_text(search)
    loop = asyncio.get_running_loop()
    transport, server = await loop.create_datagram_endpoint(NameServer, local_addr=("127.0.0.1", 0))
    files = {"hosts_file": str(folder / "hosts"), "search_file": str(folder / "resolv.conf")}
    settings: dict[str, Any] = {"timeout_s": 2.0, **files, **more}
    made = DnsResolver(DnsConfig(server=f"127.0.0.1:{server.port}", **settings))
    made.bind("clock", HandClock())
    await made.open()
    try:
        yield made, server
    finally:
        await made.close()
        transport.close()


HOSTS = """\
# comment
127.0.0.9   mine.example  Alias   # and another one
::9         mine.example
10.0.0.1\tprinter
10.0.0.2\tprinter
fe80::1%eth0 linked.example
nonsense here
192.0.2.99
192.0.2.7 shop.test
203.0.113.9 localhost
0.0.0.0 tracker.example
"""


@pytest.mark.parametrize(
    ("name", "addresses"),
    [
        ("mine.example", ("127.0.0.9", "::9")),
        ("MINE.Example.", ("127.0.0.9", "::9")),
        ("alias", ("127.0.0.9",)),
        ("printer", ("10.0.0.1", "10.0.0.2")),
        ("shop.test", ("192.0.2.7",)),
        ("tracker.example", ("0.0.0.0",)),
        *((name, ("127.0.0.1", "::1")) for name in ("localhost", "LOCALHOST.", "a.localhost", "b.a.localhost.")),
    ],
)
def test_the_hosts_file_comes_before_dns_and_localhost_is_loopback_whatever_it_says(
    tmp_path: Path, name: str, addresses: tuple[str, ...]
) -> None:
    async def scene() -> None:
        async with system(tmp_path, HOSTS) as (resolver, server):
            found = await resolver.resolve(name)
            assert found.addresses == addresses
            assert 0 < found.ttl_s <= 6 * 3600
            assert server.asked == []

    run(scene())


@pytest.mark.parametrize("name", ["linked.example", "here", "notlocalhost", "localhost.example", "#", "comment"])
def test_what_the_hosts_file_does_not_know_is_asked_of_the_server(tmp_path: Path, name: str) -> None:
    async def scene() -> None:
        async with system(tmp_path, HOSTS) as (resolver, _):
            assert (await resolver.resolve(name)).addresses == ()

    run(scene())


def test_localhost_has_the_loopback_addresses_that_the_hosts_file_gives_it(tmp_path: Path) -> None:
    async def scene() -> None:
        async with system(tmp_path, "127.0.0.1 localhost\n127.0.0.5 api.localhost\n") as (resolver, _):
            assert (await resolver.resolve("localhost")).addresses == ("127.0.0.1",)
            assert (await resolver.resolve("api.localhost")).addresses == ("127.0.0.5",)
            assert (await resolver.resolve("other.localhost")).addresses == ("127.0.0.1",)

    run(scene())


def test_a_hosts_file_is_read_again_when_it_changes_and_only_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads: list[int] = []

    def counted(text: str) -> dict[str, tuple[str, ...]]:
        reads.append(threading.get_ident())
        return read_hosts(text)

    monkeypatch.setattr(hosts_file_module, "read_hosts", counted)

    async def scene() -> None:
        path = tmp_path / "hosts"
        async with system(tmp_path, "10.0.0.1 a.example\n") as (resolver, server):
            for _ in range(3):
                assert (await resolver.resolve("a.example")).addresses == ("10.0.0.1",)
            assert len(reads) == 1
            (tmp_path / "new").write_text("10.0.0.2 a.example\n")
            (tmp_path / "new").replace(path)
            assert {(await resolver.resolve("a.example")).addresses for _ in range(3)} == {("10.0.0.2",)}
            assert len(reads) == 2
            path.write_text("10.0.0.33 a.example\n")
            answers = await asyncio.gather(*(resolver.resolve("a.example") for _ in range(20)))
            assert {answer.addresses for answer in answers} == {("10.0.0.33",)}
            assert len(reads) == 3, "all wait for one reading"
            path.unlink()
            assert (await resolver.resolve("a.example")).addresses == ()
            assert "a.example" in server.asked
        assert threading.get_ident() not in reads, "not on the thread of the event loop"

    run(scene())


def test_a_hosts_file_that_is_not_there_or_cannot_be_read_knows_nothing(tmp_path: Path) -> None:
    async def scene() -> None:
        for path in (tmp_path / "nowhere", tmp_path):
            async with system(tmp_path, hosts_file=str(path)) as (resolver, _):
                assert (await resolver.resolve("shop.test")).addresses == ("192.0.2.2",)
                assert (await resolver.resolve("localhost")).addresses == ("127.0.0.1", "::1")

    run(scene())


def test_a_file_of_odd_bytes_is_read_as_far_as_it_can_be() -> None:
    text = b"\xef\xbb\xbf10.0.0.1 first\r\n10.0.0.2 \xff\xfe\n10.0.0.3 last".decode(errors="replace")
    assert read_hosts(text)["last"] == ("10.0.0.3",)
    assert read_hosts("10.0.0.1 a a A\n10.0.0.1 a\n") == {"a": ("10.0.0.1",)}


@pytest.mark.parametrize(
    ("name", "search", "addresses", "asked"),
    [
        ("printer", "search corp.test other.test\n", ("192.0.2.1",), ["printer.corp.test"]),
        ("printer", "search other.test corp.test\n", ("192.0.2.1",), ["printer.other.test", "printer.corp.test"]),
        ("printer", "domain corp.test\n", ("192.0.2.1",), ["printer.corp.test"]),
        ("printer", "", (), ["printer"]),
        ("printer.", "search corp.test\n", (), ["printer"]),
        ("shop.test", "search corp.test\n", ("192.0.2.2",), ["shop.test"]),
        ("shop.test", "search corp.test\noptions ndots:2\n", ("192.0.2.3",), ["shop.test.corp.test"]),
        ("nobody", "search corp.test\n", (), ["nobody.corp.test", "nobody"]),
        ("no.body", "search corp.test\n", (), ["no.body", "no.body.corp.test"]),
    ],
)
def test_names_are_searched_for_in_the_systems_domains(
    tmp_path: Path, name: str, search: str, addresses: tuple[str, ...], asked: list[str]
) -> None:
    async def scene() -> None:
        async with system(tmp_path, search=search) as (resolver, server):
            assert (await resolver.resolve(name)).addresses == addresses
            assert server.asked == asked

    run(scene())


def test_a_server_that_is_silent_is_not_asked_for_the_name_in_every_domain(tmp_path: Path) -> None:
    async def scene() -> None:
        async with system(tmp_path, search="search a.test b.test\n", timeout_s=0.3) as (resolver, server):
            server.silent.add("printer.a.test")
            assert (await resolver.resolve("printer")).addresses == ()
            assert set(server.asked) == {"printer.a.test"}

    run(scene())


def test_a_server_of_ones_own_has_the_only_word_but_for_localhost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`--resolver`: neither the hosts file nor the domains of this machine count."""
    (tmp_path / "etc-hosts").write_text("10.0.0.9 shop.test printer\n")
    (tmp_path / "etc-resolv").write_text("search corp.test\n")
    monkeypatch.setattr("whimbrel.fetch.resolver.HOSTS_FILE", str(tmp_path / "etc-hosts"))
    monkeypatch.setattr("whimbrel.fetch.resolver.SEARCH_FILE", str(tmp_path / "etc-resolv"))

    async def scene() -> None:
        async with system(tmp_path, hosts_file=None, search_file=None) as (resolver, server):
            assert (await resolver.resolve("shop.test")).addresses == ("192.0.2.2",)
            assert (await resolver.resolve("printer")).addresses == ()
            assert (await resolver.resolve("www.localhost")).addresses == ("127.0.0.1", "::1")
            assert server.asked == ["shop.test", "printer"]
        made = DnsResolver(DnsConfig())
        made.bind("clock", HandClock())
        await made.open()
        try:
            assert (await made.resolve("shop.test")).addresses == ("10.0.0.9",)
        finally:
            await made.close()

    run(scene())


def test_the_environment_has_the_last_word_on_domains(monkeypatch: pytest.MonkeyPatch) -> None:
    assert read_search("search a.test B.test. .\nsearch c.test\n; search d.test\noptions rotate ndots:99\n") == (
        ("c.test",),
        15,
    )
    assert read_search("domain a.test\noptions ndots:x\n") == (("a.test",), 1)
    monkeypatch.setitem(os.environ, "LOCALDOMAIN", "x.test y.test")
    assert read_search("search a.test\n") == (("x.test", "y.test"), 1)
