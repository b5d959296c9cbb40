"""The DNS of the simulated web: authoritative for every name of it, and troubled where a host is.

A question becomes an answer in three steps: the *resolver* reads the message, finds the host of the name, and says what
is so (`_Facts`); the facts become a message again; a protocol, UDP or TCP, sends it, perhaps after a delay.

Names of this web have the A records of their host. A name between a host and the suffix exists without records, so
that no NXDOMAIN denies what is below it (RFC 8020). Every other name does not exist. Answers are complete, aliases
included, and say that recursion is available: a stub resolver needs no other server.

Answers are functions of the specification and the question, but for three troubles that depend on how often the address
of their host was asked for: `dns-rebinding`, `dns-recovers` and `dns-changing`. These counters are the resolver's only
state. They start at zero with it and are bounded: the host not asked about for longest is forgotten and starts again.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Final, cast

import dns.exception
import dns.flags
import dns.message
import dns.name
import dns.rcode
import dns.rdata
import dns.rdataclass
import dns.rdatatype
import dns.rrset
from dns.opcode import Opcode
from dns.rcode import Rcode
from dns.rdataclass import RdataClass
from dns.rdatatype import RdataType

from whimbrel.simweb.dice import Dice
from whimbrel.simweb.host import LABELS, SimHost, SimHosts

TTL_S: Final = 300
SHORT_TTL_S: Final = 1
NEGATIVE_TTL_S: Final = 60
"""How long a client may remember that there is nothing (RFC 2308 §5)."""
SLOW_S: Final = 1.0
PRIVATE_ADDRESS: Final = "10.1.2.3"
PAYLOAD_BYTES: Final = 1232
"""The largest UDP message we say we take: what fits every path unfragmented (DNS flag day 2020)."""
MANY: Final = 32
MAX_COUNTERS: Final = 65_536

_PLAIN_UDP_BYTES: Final = 512
_MAX_WAITING: Final = 10_000
_GARBAGE: Final = b"\x81\x80" + b"this is not a message of the domain name system, whatever its number says"
_RCODES: Final = {"dns-nxdomain": Rcode.NXDOMAIN, "dns-servfail": Rcode.SERVFAIL, "dns-refused": Rcode.REFUSED}
_ALIASES: Final = {"dns-cname": 3, "dns-cname-loop": 1}
"""How many names `alias-N.HOST` a host with that trouble has."""


@dataclass(frozen=True, slots=True)
class DnsAnswer:
    """What becomes of a message: bytes to send after a delay, or None, silence."""

    wire: bytes | None
    delay_s: float = 0.0


@dataclass(frozen=True, slots=True)
class _Facts:
    """What is so about a name: aliases from it onwards, and the addresses at their end."""

    rcode: Rcode = Rcode.NOERROR
    aliases: tuple[tuple[str, str], ...] = ()
    addresses: tuple[str, ...] = ()
    ttl_s: int = TTL_S
    apex: bool = False
    """The name is that of the zone, which has an SOA record."""
    looped: bool = False
    """The aliases lead back to the name, so there is no end of them to deny anything of."""


_SILENCE: Final = DnsAnswer(None)


class NameServer:
    """Answers DNS messages. `answer` takes any bytes and never raises."""

    def __init__(self, hosts: SimHosts) -> None:
        self._hosts = hosts
        self._dice = Dice(hosts.spec.seed)
        self._suffix = hosts.spec.suffix.lower()
        self._zone = dns.name.from_text(self._suffix)
        self._asked: dict[int, tuple[int, int]] = {}

    def answer(self, wire: bytes, *, over_tcp: bool) -> DnsAnswer:
        """Messages without a number, and answers of others, are met with silence: two servers must not talk forever."""
        if len(wire) < 2 or (len(wire) > 2 and wire[2] & 0x80):
            return _SILENCE
        if len(wire) > 2 and wire[2] >> 3 & 15 != Opcode.QUERY:
            return DnsAnswer(_bare(wire, Rcode.NOTIMP))
        try:
            query = dns.message.from_wire(wire)
            response = dns.message.make_response(query, recursion_available=True, our_payload=PAYLOAD_BYTES)
        except (dns.exception.DNSException, ValueError):
            return DnsAnswer(_bare(wire, Rcode.FORMERR))
        if len(query.question) != 1:
            return DnsAnswer(_bare(wire, Rcode.FORMERR))
        if query.edns > 0:
            response.set_rcode(Rcode.BADVERS)
        elif query.question[0].rdclass != RdataClass.IN:
            response.set_rcode(Rcode.REFUSED)
        else:
            return self._answer_question(response, over_tcp=over_tcp)
        return DnsAnswer(_encode(response, over_tcp=over_tcp))

    def _answer_question(self, response: dns.message.Message, *, over_tcp: bool) -> DnsAnswer:
        question = response.question[0]
        name = question.name.to_text(omit_final_dot=True).lower()
        host, at = self._find(name)
        trouble = "" if host is None else host.trouble
        if trouble == "dns-silent":
            return _SILENCE
        if trouble == "dns-garbage":
            return DnsAnswer(response.id.to_bytes(2, "big") + _GARBAGE)
        response.flags |= dns.flags.AA
        if trouble == "dns-truncated" and not over_tcp:
            response.flags |= dns.flags.TC
        else:
            facts = self._of_no_host(name) if host is None else self._of_host(host, at, response)
            self._state(response, facts)
        return DnsAnswer(_encode(response, over_tcp=over_tcp), SLOW_S if trouble == "dns-slow" else 0.0)

    def _find(self, name: str) -> tuple[SimHost | None, int]:
        """The host of a name, and which of its names it is: 0 is its own, N is `alias-(N - 1)`."""
        host = self._hosts.find(name)
        if host is not None:
            return host, 0
        label, _, rest = name.partition(".")
        host = self._hosts.find(rest) if label.startswith("alias-") else None
        if host is not None:
            for at in range(_ALIASES.get(host.trouble, 0)):
                if label == f"alias-{at}":
                    return host, at + 1
        return None, 0

    def _of_no_host(self, name: str) -> _Facts:
        if name == self._suffix:
            return _Facts(apex=True)
        between = name == f"exhibit.{self._suffix}" or self._hosts.find(f"{LABELS[0]}.{name}") is not None
        return _Facts() if between else _Facts(Rcode.NXDOMAIN)

    def _of_host(self, host: SimHost, at: int, response: dns.message.Message) -> _Facts:
        kind = response.question[0].rdtype
        rcode = _RCODES.get(host.trouble)
        if rcode is not None:
            return _Facts(rcode)
        if kind == RdataType.A:
            facts = self._of_address(host, response.id)
        elif kind == RdataType.AAAA and host.trouble == "dns-mapped":
            facts = _Facts(addresses=(f"::ffff:{PRIVATE_ADDRESS}",))
        else:
            facts = _Facts()
        if host.trouble not in _ALIASES:
            return facts
        aliases = _chain(host, at)
        if kind == RdataType.CNAME:
            aliases = aliases[:1]
        return _Facts(aliases=aliases, addresses=facts.addresses, looped=host.trouble == "dns-cname-loop")

    def _of_address(self, host: SimHost, question_id: int) -> _Facts:
        match host.trouble:
            case "dns-empty" | "dns-mapped" | "dns-cname-loop":
                return _Facts()
            case "dns-private":
                return _Facts(addresses=(PRIVATE_ADDRESS,))
            case "dns-rebinding" | "dns-recovers" | "dns-changing":
                return self._of_counted(host, self._count(host, question_id))
            case "dns-short-ttl":
                return _Facts(addresses=host.addresses, ttl_s=SHORT_TTL_S)
            case "dns-many":
                draws = self._dice.draws(MANY, b"dns-many", host.number)
                # The last number differs, so that no two of them can be the same.
                return _Facts(addresses=tuple(_own_address(draw, 1 + at) for at, draw in enumerate(draws)))
            case _:
                return _Facts(addresses=host.addresses)

    def _of_counted(self, host: SimHost, earlier: int) -> _Facts:
        """`earlier` is how many questions for the address of this host came before."""
        if host.trouble == "dns-recovers":
            return _Facts(Rcode.SERVFAIL) if earlier < 2 else _Facts(addresses=host.addresses)
        if host.trouble == "dns-rebinding":
            # Two good ones: a resolver may have to ask again because another server's answer was garbage.
            addresses = host.addresses if earlier < 2 else (PRIVATE_ADDRESS,)
        else:
            draw = self._dice.draws(1, b"dns-changing", host.number, earlier)[0]
            # The last number goes round, so that no two neighbours can be the same.
            addresses = (_own_address(draw, 1 + earlier % 254),)
        return _Facts(addresses=addresses, ttl_s=SHORT_TTL_S)

    def _count(self, host: SimHost, question_id: int) -> int:
        """How many questions came before. One that is sent again, as clients do after a quarter of a second, has the
        same id and counts once."""
        earlier, last_id = self._asked.pop(host.number, (-1, -1))
        if len(self._asked) >= MAX_COUNTERS:
            del self._asked[next(iter(self._asked))]
        earlier += question_id != last_id
        self._asked[host.number] = (earlier, question_id)
        return earlier

    def _state(self, response: dns.message.Message, facts: _Facts) -> None:
        """Write facts into a response. Owners are spelt as they were asked for; clients may compare the case."""
        response.set_rcode(facts.rcode)
        question = response.question[0]
        for owner, target in facts.aliases:
            response.answer.append(_records(_owner(question.name, owner), facts.ttl_s, "CNAME", f"{target}."))
        end = _owner(question.name, facts.aliases[-1][1]) if facts.aliases else question.name
        if facts.addresses:
            kind = "AAAA" if ":" in facts.addresses[0] else "A"
            response.answer.append(_records(end, facts.ttl_s, kind, *facts.addresses))
        elif facts.apex and question.rdtype == RdataType.SOA:
            response.answer.append(self._soa(question.name))
        elif _denies(facts, question.rdtype):
            response.authority.append(self._soa(self._zone if end.is_subdomain(self._zone) else dns.name.root))

    def _soa(self, zone: dns.name.Name) -> dns.rrset.RRset:
        names = f"ns.{self._suffix}. hostmaster.{self._suffix}."
        return _records(zone, NEGATIVE_TTL_S, "SOA", f"{names} 1 7200 900 86400 {NEGATIVE_TTL_S}")


class _Waiting:
    """Answers that are to be sent later. When too many wait, further ones are lost, as in any busy server."""

    def __init__(self) -> None:
        self._timers: dict[int, asyncio.TimerHandle] = {}
        self._number = 0

    def send(self, answer: DnsAnswer, write: Callable[[bytes], None]) -> None:
        if answer.wire is None:
            return
        if not answer.delay_s:
            write(answer.wire)
        elif len(self._timers) < _MAX_WAITING:
            self._number += 1
            later = partial(self._send_now, self._number, write, answer.wire)
            self._timers[self._number] = asyncio.get_running_loop().call_later(answer.delay_s, later)

    def forget(self) -> None:
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()

    def _send_now(self, number: int, write: Callable[[bytes], None], wire: bytes) -> None:
        del self._timers[number]
        write(wire)


class DnsUdp(asyncio.DatagramProtocol):
    def __init__(self, resolver: NameServer) -> None:
        self._resolver = resolver
        self._waiting = _Waiting()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.DatagramTransport", transport)

    def connection_lost(self, _error: Exception | None) -> None:
        self._waiting.forget()

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        self._waiting.send(self._resolver.answer(data, over_tcp=False), partial(self._write, addr))

    def _write(self, addr: tuple[str, int], wire: bytes) -> None:
        if not self._transport.is_closing():
            self._transport.sendto(wire, addr)


class DnsTcp(asyncio.Protocol):
    """Each message follows its length in two bytes (RFC 7766 §8); slow answers do not hold up quick ones (§7)."""

    def __init__(self, resolver: NameServer) -> None:
        self._resolver = resolver
        self._waiting = _Waiting()
        self._buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def connection_lost(self, _error: Exception | None) -> None:
        self._waiting.forget()

    def pause_writing(self) -> None:
        # Who does not read answers is not asked for more questions: their answers would fill the memory.
        self._transport.pause_reading()

    def resume_writing(self) -> None:
        if not self._transport.is_closing():
            self._transport.resume_reading()

    def data_received(self, data: bytes) -> None:
        data, at = self._buffer + data, 0
        while len(data) - at >= 2:
            end = at + 2 + int.from_bytes(data[at : at + 2], "big")
            if end > len(data):
                break
            self._waiting.send(self._resolver.answer(data[at + 2 : end], over_tcp=True), self._write)
            at = end
        self._buffer = data[at:]

    def _write(self, wire: bytes) -> None:
        if not self._transport.is_closing():
            self._transport.write(len(wire).to_bytes(2, "big") + wire)


def _bare(wire: bytes, rcode: Rcode) -> bytes:
    """A header alone, for a message that cannot be read: its number, its opcode and its wish for recursion."""
    flags = wire[2] & 0x79 if len(wire) > 2 else 0
    return wire[:2] + bytes((0x80 | flags, rcode)) + bytes(8)


def _encode(response: dns.message.Message, *, over_tcp: bool) -> bytes:
    """What does not fit the client's UDP buffer is cut and marked so (RFC 2181 §9, RFC 6891 §6.2.5)."""
    largest = 65_535 if over_tcp else max(_PLAIN_UDP_BYTES, response.request_payload if response.edns >= 0 else 0)
    # dnspython shuffles addresses unless told not to; ours come in the order of `Host.addresses`, every time.
    return response.to_wire(max_size=largest, prefer_truncation=True, want_shuffle=False)


def _chain(host: SimHost, at: int) -> tuple[tuple[str, str], ...]:
    """The aliases from the name `at` of a host onwards; in a loop, once round."""
    names = [host.name, *(f"alias-{alias}.{host.name}" for alias in range(_ALIASES[host.trouble]))]
    if host.trouble == "dns-cname-loop":
        return tuple(pairwise((names[at], names[1 - at], names[at])))
    return tuple(pairwise(names[at:]))


def _denies(facts: _Facts, kind: RdataType) -> bool:
    """Whether facts without addresses mean that there is nothing, which a client may remember (RFC 2308 §2)."""
    answered = facts.looped or (kind == RdataType.CNAME and bool(facts.aliases))
    return facts.rcode in (Rcode.NOERROR, Rcode.NXDOMAIN) and not answered


def _owner(asked: dns.name.Name, name: str) -> dns.name.Name:
    owner = dns.name.from_text(name)
    return asked if owner == asked else owner


def _records(owner: dns.name.Name, ttl_s: int, kind: str, *data: str) -> dns.rrset.RRset:
    return dns.rrset.from_text(owner, ttl_s, RdataClass.IN, kind, *data)


def _own_address(draw: int, last: int) -> str:
    """An address in the range where hosts have theirs alone."""
    return f"127.{16 + draw % 239}.{draw >> 8 & 255}.{last}"
