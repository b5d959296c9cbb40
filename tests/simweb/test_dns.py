"""The DNS of the simulated web, as dig sees it: one case for each trouble, and the ordinary names."""

import asyncio
import re
import shutil
import socket
import subprocess
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from ipaddress import IPv4Address

import dns.message
import pytest
import uvloop

from whimbrel.simweb.dns import DnsTcp, DnsUdp, NameServer
from whimbrel.simweb.exhibit import HOST_LABELS, TROUBLES
from whimbrel.simweb.host import SimHost, SimHosts
from whimbrel.simweb.spec import WebSpec

HOSTS = SimHosts(WebSpec(hosts=400), HOST_LABELS)
HOST = HOSTS.get(0)


@dataclass(frozen=True)
class Seen:
    """What dig printed. Without an answer, `status` is empty."""

    status: str
    flags: frozenset[str]
    answer: tuple[tuple[str, int, str, str], ...]
    """Owner, TTL, type, data."""
    authority: tuple[str, ...]
    """Owner and type."""
    text: str

    @property
    def addresses(self) -> list[str]:
        return [data for _, _, kind, data in self.answer if kind in ("A", "AAAA")]

    @property
    def is_no_data(self) -> bool:
        return self.status == "NOERROR" and not self.addresses and any(name.endswith(" SOA") for name in self.authority)


@dataclass(frozen=True)
class Server:
    port: int

    def dig(self, name: str, kind: str = "A", *options: str) -> Seen:
        if shutil.which("dig") is None:
            pytest.skip("dig is not installed (package bind9-dnsutils)")
        limits = ("+time=3", "+tries=1", "+nocookie", "+noall", "+comments", "+answer", "+authority", "+stats")
        command = ["dig", "@127.0.0.1", "-p", str(self.port), *limits, *options, name, kind]
        return _seen(subprocess.run(command, capture_output=True, text=True, timeout=20, check=False).stdout)

    def dig_exhibit(self, trouble: str, kind: str = "A", *options: str) -> Seen:
        return self.dig(f"{trouble}.exhibit.test", kind, *options)


def _seen(text: str) -> Seen:
    sections: dict[str, list[list[str]]] = {"ANSWER": [], "AUTHORITY": []}
    section = ""
    for line in text.splitlines():
        heading = re.match(r";; (\w+) SECTION", line)
        if heading:
            section = heading[1]
        elif section and line and not line.startswith(";"):
            sections[section].append(line.split(maxsplit=4))
    status, flags = re.search(r"status: (\w+)", text), re.search(r"flags: ([a-z ]+);", text)
    return Seen(
        status=status[1] if status else "",
        flags=frozenset(flags[1].split() if flags else ()),
        answer=tuple((name, int(ttl), kind, data) for name, ttl, _, kind, data in sections["ANSWER"]),
        authority=tuple(f"{name} {kind}" for name, _, _, kind, _ in sections["AUTHORITY"]),
        text=text,
    )


def _bound() -> tuple[socket.socket, socket.socket]:
    """A UDP and a TCP socket on the same free port."""
    for _ in range(20):
        udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        udp.bind(("127.0.0.1", 0))
        tcp = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        try:
            tcp.bind(udp.getsockname())
        except OSError:
            udp.close()
            tcp.close()
        else:
            return udp, tcp
    raise RuntimeError("no port is free for both UDP and TCP")


@contextmanager
def _serving(resolver: NameServer) -> Iterator[Server]:
    udp, tcp = _bound()
    loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()

    async def start() -> tuple[asyncio.BaseTransport, asyncio.Server]:
        transport, _ = await loop.create_datagram_endpoint(lambda: DnsUdp(resolver), sock=udp)
        return transport, await loop.create_server(lambda: DnsTcp(resolver), sock=tcp)

    async def stop(transport: asyncio.BaseTransport, server: asyncio.Server) -> None:
        transport.close()
        server.close()
        await server.wait_closed()

    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    port = udp.getsockname()[1]
    started = asyncio.run_coroutine_threadsafe(start(), loop).result(10)
    try:
        yield Server(port)
    finally:
        asyncio.run_coroutine_threadsafe(stop(*started), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()


@pytest.fixture
def server() -> Iterator[Server]:
    with _serving(NameServer(HOSTS)) as running:
        yield running


def _exhibit(trouble: str) -> SimHost:
    host = HOSTS.find(f"{trouble}.exhibit.test")
    assert host is not None
    return host


def test_every_dns_trouble_has_a_case_here() -> None:
    cases = {name.removeprefix("test_dns_").split("__")[0].replace("_", "-") for name in globals()}
    assert {name.removeprefix("dns-") for name in TROUBLES if name.startswith("dns-")} <= cases


def test_a_host_has_its_address_with_authority(server: Server) -> None:
    seen = server.dig(HOST.name)
    assert (seen.status, seen.addresses) == ("NOERROR", list(HOST.addresses))
    assert {"qr", "aa", "ra"} <= seen.flags
    assert seen.answer[0][:2] == (f"{HOST.name}.", 300)
    assert "EDNS: version: 0" in seen.text


def test_a_client_without_edns_gets_no_edns(server: Server) -> None:
    assert "EDNS" not in server.dig(HOST.name, "A", "+noedns").text


def test_an_unknown_edns_version_is_refused_as_such(server: Server) -> None:
    assert server.dig(HOST.name, "A", "+edns=3", "+noednsnegotiation").status == "BADVERS"


def test_names_are_found_in_any_case_and_spelt_as_asked(server: Server) -> None:
    seen = server.dig("WwW.S0.tEsT")
    assert (seen.answer[0][0], seen.addresses) == ("WwW.S0.tEsT.", list(HOST.addresses))


def test_hosts_that_share_an_address_have_the_same_one(server: Server) -> None:
    counts = Counter(HOSTS.get(number).addresses for number in range(400))
    shared = next(addresses for addresses, count in counts.items() if count > 1)
    names = [HOSTS.name(number) for number in range(400) if HOSTS.get(number).addresses == shared]
    assert [server.dig(name).addresses for name in names[:2]] == [list(shared)] * 2


def test_a_host_with_several_addresses_has_them_all(server: Server) -> None:
    host = next(host for host in map(HOSTS.get, range(400)) if len(host.addresses) > 1)
    assert sorted(server.dig(host.name).addresses) == sorted(host.addresses)


@pytest.mark.parametrize("name", ["www.s100.test", "nobody.s0.test", "alias-0.www.s0.test", "nobody.exhibit.test"])
def test_a_name_without_a_host_does_not_exist(server: Server, name: str) -> None:
    seen = server.dig(name)
    assert (seen.status, seen.answer, seen.authority) == ("NXDOMAIN", (), ("test. SOA",))


def test_a_name_of_another_zone_does_not_exist_either(server: Server) -> None:
    seen = server.dig("www.example.com")
    assert (seen.status, seen.authority) == ("NXDOMAIN", (". SOA",))


@pytest.mark.parametrize("kind", ["AAAA", "TXT", "MX", "CNAME", "HTTPS"])
def test_a_host_has_no_records_of_other_types(server: Server, kind: str) -> None:
    assert server.dig(HOST.name, kind).is_no_data


@pytest.mark.parametrize("name", ["s0.test", "exhibit.test", "test"])
def test_names_above_hosts_exist_without_addresses(server: Server, name: str) -> None:
    assert server.dig(name).is_no_data


def test_the_suffix_has_a_start_of_authority(server: Server) -> None:
    assert [kind for _, _, kind, _ in server.dig("test", "SOA").answer] == ["SOA"]


def test_tcp_gives_the_same_answer(server: Server) -> None:
    seen = server.dig(HOST.name, "A", "+tcp")
    assert "(TCP)" in seen.text
    assert seen.answer == server.dig(HOST.name).answer


def test_a_class_other_than_in_is_refused(server: Server) -> None:
    assert server.dig("version.bind", "TXT", "-c", "CH").status == "REFUSED"


def test_an_opcode_other_than_query_is_not_implemented(server: Server) -> None:
    assert server.dig(HOST.name, "A", "+opcode=NOTIFY").status == "NOTIMP"


def test_dns_nxdomain(server: Server) -> None:
    seen = server.dig_exhibit("dns-nxdomain")
    assert (seen.status, seen.answer, seen.authority) == ("NXDOMAIN", (), ("test. SOA",))


def test_dns_servfail(server: Server) -> None:
    seen = server.dig_exhibit("dns-servfail")
    assert (seen.status, seen.answer, seen.authority) == ("SERVFAIL", (), ())


def test_dns_refused(server: Server) -> None:
    seen = server.dig_exhibit("dns-refused")
    assert (seen.status, seen.answer, seen.authority) == ("REFUSED", (), ())


@pytest.mark.parametrize("transport", ["+notcp", "+tcp"])
def test_dns_silent(server: Server, transport: str) -> None:
    seen = server.dig_exhibit("dns-silent", "A", transport, "+time=1")
    assert seen.status == ""
    assert "timed out" in seen.text or "no servers could be reached" in seen.text


def test_dns_empty(server: Server) -> None:
    assert server.dig_exhibit("dns-empty").is_no_data


def test_dns_garbage(server: Server) -> None:
    assert "Got bad packet" in server.dig_exhibit("dns-garbage").text


@pytest.mark.parametrize("kind", ["A", "AAAA"])
def test_dns_cname_loop(server: Server, kind: str) -> None:
    name = "dns-cname-loop.exhibit.test."
    there, back = (name, 300, "CNAME", f"alias-0.{name}"), (f"alias-0.{name}", 300, "CNAME", name)
    seen = server.dig(name, kind)
    assert (seen.status, seen.answer, seen.authority) == ("NOERROR", (there, back), ())
    assert server.dig(f"alias-0.{name}", kind).answer == (back, there)


def test_dns_private(server: Server) -> None:
    assert server.dig_exhibit("dns-private").addresses == ["10.1.2.3"]


def test_dns_mapped(server: Server) -> None:
    assert server.dig_exhibit("dns-mapped").is_no_data
    assert server.dig_exhibit("dns-mapped", "AAAA").addresses == ["::ffff:10.1.2.3"]


def test_dns_rebinding(server: Server) -> None:
    assert server.dig_exhibit("dns-rebinding", "AAAA").is_no_data
    answers = [server.dig_exhibit("dns-rebinding").answer for _ in range(4)]
    own = list(_exhibit("dns-rebinding").addresses)
    assert [[record[3] for record in answer] for answer in answers] == [own, own, ["10.1.2.3"], ["10.1.2.3"]]
    assert {record[1] for answer in answers for record in answer} == {1}


def test_a_question_that_is_sent_again_counts_once(server: Server) -> None:
    """A client that hears nothing repeats its question; if it got another answer, it would depend on the load."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.settimeout(5)
        answers = []
        for number in (7, 7, 7, 8, 8, 9):
            question = dns.message.make_query("dns-rebinding.exhibit.test", "A", id=number)
            client.sendto(question.to_wire(), ("127.0.0.1", server.port))
            answer = dns.message.from_wire(client.recv(4096))
            answers.append(answer.answer[0].to_rdataset()[0].to_text() == "10.1.2.3")
    assert answers == [False] * 5 + [True]


def test_dns_recovers(server: Server) -> None:
    assert server.dig_exhibit("dns-recovers", "AAAA").is_no_data
    seen = [server.dig_exhibit("dns-recovers") for _ in range(4)]
    assert [answer.status for answer in seen] == ["SERVFAIL", "SERVFAIL", "NOERROR", "NOERROR"]
    assert seen[2].addresses == list(_exhibit("dns-recovers").addresses)


@pytest.mark.parametrize("transport", ["+notcp", "+tcp"])
def test_dns_slow(server: Server, transport: str) -> None:
    seen = server.dig_exhibit("dns-slow", "A", transport)
    took = re.search(r"Query time: (\d+) msec", seen.text)
    assert took is not None
    assert int(took[1]) >= 990
    assert seen.addresses == list(_exhibit("dns-slow").addresses)


def test_dns_short_ttl(server: Server) -> None:
    seen = server.dig_exhibit("dns-short-ttl")
    assert seen.addresses == list(_exhibit("dns-short-ttl").addresses)
    assert {record[1] for record in seen.answer} == {1}


def test_dns_changing(server: Server) -> None:
    first = [server.dig_exhibit("dns-changing") for _ in range(4)]
    addresses = [address for seen in first for address in seen.addresses]
    assert len(set(addresses)) == 4
    assert all(_is_own(address) for address in addresses)
    assert {record[1] for seen in first for record in seen.answer} == {1}
    with _serving(NameServer(HOSTS)) as again:
        assert [again.dig_exhibit("dns-changing").addresses for _ in range(4)] == [seen.addresses for seen in first]


def test_dns_cname(server: Server) -> None:
    name = "dns-cname.exhibit.test."
    names = [name, f"alias-0.{name}", f"alias-1.{name}", f"alias-2.{name}"]
    chain = [(names[at], 300, "CNAME", names[at + 1]) for at in range(3)]
    address = [(names[3], 300, "A", address) for address in _exhibit("dns-cname").addresses]
    for at in range(4):
        assert list(server.dig(names[at]).answer) == chain[at:] + address
    assert list(server.dig(name, "CNAME").answer) == chain[:1]
    no_address = server.dig(name, "AAAA")
    assert list(no_address.answer) == chain
    assert no_address.is_no_data
    assert server.dig(f"alias-3.{name}").status == "NXDOMAIN"


def test_dns_truncated(server: Server) -> None:
    cut = server.dig_exhibit("dns-truncated", "A", "+ignore")
    assert "tc" in cut.flags
    assert cut.answer == ()
    whole = server.dig_exhibit("dns-truncated", "A", "+tcp")
    assert "tc" not in whole.flags
    assert whole.addresses == list(_exhibit("dns-truncated").addresses)


def test_dns_many(server: Server) -> None:
    addresses = server.dig_exhibit("dns-many").addresses
    assert len(set(addresses)) == len(addresses) == 32
    assert all(_is_own(address) for address in addresses)


def test_dns_many__is_cut_for_a_client_that_takes_512_bytes_and_whole_over_tcp(server: Server) -> None:
    cut = server.dig_exhibit("dns-many", "A", "+noedns", "+ignore")
    assert "tc" in cut.flags
    assert cut.answer == ()
    assert len(server.dig_exhibit("dns-many", "A", "+noedns").addresses) == 32


def test_one_tcp_connection_takes_many_questions_in_any_pieces(server: Server) -> None:
    hosts = [HOSTS.get(number) for number in range(3)]
    queries = [dns.message.make_query(host.name, "A").to_wire() for host in hosts]
    stream = b"".join(len(query).to_bytes(2, "big") + query for query in queries)
    with socket.create_connection(("127.0.0.1", server.port), 10) as client, client.makefile("rb") as answers:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for piece in (stream[:1], stream[1:20], stream[20:-3], stream[-3:]):
            client.sendall(piece)
        for host, query in zip(hosts, queries, strict=True):
            message = dns.message.from_wire(answers.read(int.from_bytes(answers.read(2), "big")))
            assert message.id == int.from_bytes(query[:2], "big")
            assert {record.to_text() for record in message.answer[0]} == set(host.addresses)


@pytest.mark.parametrize(
    "wire", [b"\x12\x34", b"\x12\x34\x01\x00\x00\x01", b"\x12\x34" + b"\x01" * 40, b"\x12\x34" + bytes(10)]
)
def test_a_message_that_cannot_be_read_is_a_format_error(server: Server, wire: bytes) -> None:
    with _client(server) as client:
        client.send(wire)
        reply = client.recv(512)
    assert reply[:2] == b"\x12\x34"
    assert reply[2] & 0x80
    assert reply[3] & 15 == 1


def test_hostile_bytes_do_not_silence_the_server(server: Server) -> None:
    query = dns.message.make_query(HOST.name, "A", use_edns=0).to_wire()
    answer_of_another = query[:2] + b"\x81" + query[3:]
    with _client(server) as client:
        for hostile in (b"", b"\x00", answer_of_another, query[:2] + b"\xff" * 500):
            client.send(hostile)
        client.send(query)
        # Silence towards all of them, an answer to the question: it is the first thing that comes.
        assert dns.message.from_wire(client.recv(4096)).answer
    with socket.create_connection(("127.0.0.1", server.port), 10) as client, client.makefile("rb") as answers:
        client.sendall(b"\x00\x00" + b"\x00\x01\x07" + len(query).to_bytes(2, "big") + query)
        assert dns.message.from_wire(answers.read(int.from_bytes(answers.read(2), "big"))).answer


def test_every_shortened_and_altered_question_is_survived() -> None:
    resolver = NameServer(HOSTS)
    query = dns.message.make_query("dns-cname.exhibit.test", "A", use_edns=0, payload=600).to_wire()
    for at in range(len(query)):
        assert resolver.answer(query[:at], over_tcp=False).wire != b""
        for value in range(0, 256, 3):
            altered = query[:at] + bytes((value,)) + query[at + 1 :]
            wire = resolver.answer(altered, over_tcp=True).wire
            assert wire is None or wire[:2] == altered[:2]


@contextmanager
def _client(server: Server) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.settimeout(10)
        client.connect(("127.0.0.1", server.port))
        yield client


def _is_own(address: str) -> bool:
    return IPv4Address("127.16.0.0") <= IPv4Address(address) <= IPv4Address("127.254.255.255")


@pytest.mark.parametrize("name", ["dns-many.exhibit.test", "robots-first-address.exhibit.test"])
def test_addresses_come_in_the_same_order_every_time(name: str) -> None:
    resolver = NameServer(SimHosts(WebSpec(), HOST_LABELS))
    question = dns.message.make_query(name, "A").to_wire()
    assert len({resolver.answer(question, over_tcp=True).wire for _ in range(20)}) == 1
