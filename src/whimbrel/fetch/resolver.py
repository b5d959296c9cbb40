"""Addresses of hosts: as the system finds them (hosts file, then asynchronous DNS by c-ares), or from the
configuration.

c-ares could read the hosts file and search in domains itself (`ares_getaddrinfo`). It reads on the thread of the event
loop, asks a name server for `localhost.`, turns the order of addresses round, and pycares can set neither the file nor
the order of lookups (it hands c-ares a string that Python has freed). So it is asked for single names only.
"""

import asyncio
import ipaddress
import socket
from typing import Any, Final, NamedTuple

import aiodns
import msgspec
import pycares

from whimbrel.cache import ByteCache
from whimbrel.clock import Clock
from whimbrel.fetch.api import CannotFetch, Resolution
from whimbrel.fetch.hosts_file import HostsFile
from whimbrel.fetch.search_list import system_search
from whimbrel.fetch.trouble import socket_shortage
from whimbrel.flow import Config, Needs, Provider
from whimbrel.shortage import Shortage

HOSTS_FILE: Final = "/etc/hosts"
SEARCH_FILE: Final = "/etc/resolv.conf"
_NO_SUCH: Final = (aiodns.error.ARES_ENOTFOUND, aiodns.error.ARES_ENODATA)
"""The server has answered: there is no such name, or it has no address of this kind."""
_CANNOT_SAY: Final = tuple(
    getattr(aiodns.error, f"ARES_{word}") for word in ("ESERVFAIL", "EREFUSED", "ENOTIMP", "EFORMERR")
)
"""It has answered, too, but does not know."""
_FIRST_TRY_S: Final = 1.0
"""How long c-ares waits as long as it does not know how quick the server is."""
_MOST_ASKED: Final = 5_000
_RECORDS: Final = 8
"""Questions on one channel. An answer with more records than this counts as several."""
_MOST_ADDRESSES: Final = 32
"""Of a host; an answer may have thousands."""
_ADDRESS_BYTES: Final = 70
_MOST_ALONE: Final = 8
"""Questions that are asked again at once, each on a channel without others: a channel has a thread and some
descriptors."""
_FOR_EVER_S: Final = 6 * 3600.0
"""How long an address literal holds; it could be for ever, but nobody needs longer than a name."""


class DnsConfig(Config, frozen=True):
    server: str = ""
    """ADDRESS:PORT of a name server; empty is the system's. One that is given has the only word, but for `localhost`,
    unless the next two are given as well."""
    hosts_file: str | None = None
    """Names that are known without asking, read again when the file changes. Unless given, /etc/hosts with the
    system's name server, and none with another one; empty is none."""
    search_file: str | None = None
    """Where the domains stand in which short names are searched for. Unless given, /etc/resolv.conf with the system's
    name server, and none with another one; empty is none."""
    timeout_s: float = 8.0
    """For a question, with all its tries."""
    tries: int = 5
    """For a question. c-ares waits five times as long as answers took of late, a quarter of a second at least, and up
    to twice as long at each further try: where answers are quick, five tries take four to eight seconds."""
    min_ttl_s: float = 300.0
    """Answers hold at least this long, whatever they say."""
    max_ttl_s: float = 6 * 3600.0
    """And at most this long."""
    failure_ttl_s: float = 30.0
    """How long a name without an address is not asked for again."""
    cache_bytes: int = 8_000_000
    """Of memory, for answers: those of about 20,000 hosts."""


class _Channel:
    """A channel of c-ares: how many questions were asked on it, were answered, and are under way."""

    __slots__ = ("answered", "asked", "dns", "under_way")

    def __init__(self, dns: aiodns.DNSResolver) -> None:
        self.dns = dns
        self.asked = 0
        self.answered = 0
        self.under_way = 0


class _NoSocket(Exception):
    """Nobody was asked: this machine could not."""

    def __init__(self, shortage: Shortage) -> None:
        super().__init__(shortage.cause)
        self.shortage = shortage


class _Known(NamedTuple):
    addresses: tuple[str, ...]
    until_s: float


def _size(host: str, known: _Known) -> int:
    return len(host) + _ADDRESS_BYTES * (2 + len(known.addresses))


class DnsResolver(Provider):
    """A name in the hosts file has the addresses there. For others it asks for A and AAAA together, IPv4 first in the
    answer. Owns the cache; a name is asked for once at a time.

    Addresses are given as they came, private and mapped ones too: to judge them is the transport's business.
    """

    Config = DnsConfig
    clock = Needs(Clock)

    async def open(self) -> None:
        config: DnsConfig = self.config
        of_system = not config.server
        self._hosts = HostsFile((HOSTS_FILE if of_system else "") if config.hosts_file is None else config.hosts_file)
        search_file = (SEARCH_FILE if of_system else "") if config.search_file is None else config.search_file
        self._search = await asyncio.to_thread(system_search, search_file)
        try:
            self._channel = _Channel(self._made())
        except pycares.AresError as error:
            raise CannotFetch("c-ares, which looks up names,", error) from error
        self._alone = asyncio.Semaphore(_MOST_ALONE)
        self._idle: list[_Channel] = []
        """Channels for questions that are asked alone."""
        self._closing: set[asyncio.Task[None]] = set()
        self._known: ByteCache[str, _Known] = ByteCache(self.config.cache_bytes, _size)
        self._asking: dict[str, asyncio.Task[Resolution]] = {}

    def _made(self) -> aiodns.DNSResolver:
        config: DnsConfig = self.config
        servers = [config.server] if config.server else None
        return aiodns.DNSResolver(nameservers=servers, timeout=_FIRST_TRY_S, tries=config.tries)

    async def close(self) -> None:
        """Questions under way are answered with nothing."""
        asking = tuple(self._asking.values())
        for task in asking:
            task.cancel()
        await asyncio.gather(*asking, return_exceptions=True)
        self._asking.clear()
        await self._hosts.close()
        idle = (channel.dns.close() for channel in self._idle)
        await asyncio.gather(self._channel.dns.close(), *idle, *self._closing)

    async def resolve(self, host: str) -> Resolution:
        literal = read_literal(host)
        if literal is not None:
            return literal
        listed = await self._hosts.addresses(_folded(host))
        if listed:
            return Resolution(listed, self.config.min_ttl_s)
        known = self._known.get(host)
        if known is not None:
            left_s = known.until_s - self.clock.now_s()
            if left_s > 0:
                return Resolution(known.addresses, left_s)
        task = self._asking.get(host)
        if task is None:
            task = self._asking[host] = asyncio.create_task(self._ask(host))
        try:
            # Shielded: one who no longer waits must not take the answer from the others.
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            if not task.cancelled():
                raise
            # `close` has ended the question; whoever waits is owed an answer and no exception.
            return Resolution((), self.config.failure_ttl_s)

    async def _ask(self, host: str) -> Resolution:
        config: DnsConfig = self.config
        try:
            records = await self._first_records(host)
        except _NoSocket as error:
            return Resolution((), 0.0, error.shortage)
        finally:
            self._asking.pop(host, None)
        # The order is kept, a repeated address is not.
        every = dict.fromkeys(record.data.addr for record in records if hasattr(record.data, "addr"))
        addresses = tuple(every)[:_MOST_ADDRESSES]
        ttl_s = config.failure_ttl_s
        if addresses:
            # Aliases on the way hold no longer than they say, either.
            ttl_s = min(config.max_ttl_s, max(config.min_ttl_s, min(record.ttl for record in records)))
        self._known.put(host, _Known(addresses, self.clock.now_s() + ttl_s))
        return Resolution(addresses, ttl_s)

    async def _first_records(self, host: str) -> list[Any]:
        """Of the first name with an address among those that `host` may mean. A server that does not answer for one of
        them is not asked for the others: nobody knows whether it is the one."""
        for name in self._search.candidates(host):
            answers = await asyncio.gather(*(self._query(name, kind) for kind in ("A", "AAAA")))
            records = [record for answer in answers for record in answer or ()]
            if None in answers or any(hasattr(record.data, "addr") for record in records):
                return records
        return []

    async def _query(self, host: str, kind: str) -> list[Any] | None:
        """The records of one kind, aliases included; None when there is trouble of any sort."""
        channel = self._open_channel()
        answered = channel.answered
        channel.under_way += 1
        try:
            found = await self._answer(channel.dns, host, kind)
        except aiodns.error.DNSError as error:
            code = error.args[0]
            channel.answered += code in _NO_SUCH or code in _CANNOT_SAY
            if code in _NO_SUCH:
                return []
            doubtful = code == aiodns.error.ARES_EBADRESP or channel.answered == answered
        except TimeoutError:
            # c-ares gives up earlier, and says so: its word has been lost on the way, for want of memory perhaps.
            doubtful = True
        except (UnicodeError, ValueError):
            return None
        else:
            channel.answered += 1
            channel.asked += len(found) // _RECORDS
            if found:
                return found
            # For an answer without records c-ares has a word of its own. pycares leaves out records that it has no
            # memory for.
            doubtful = True
        finally:
            channel.under_way -= 1
            if channel is not self._channel and channel.under_way == 0:
                self._give_up(channel)
        # While others had their answers, the trouble is this name's; else it may be the channel's.
        return await self._query_alone(host, kind) if doubtful else None

    def _give_up(self, channel: _Channel) -> None:
        closing = asyncio.create_task(channel.dns.close())
        self._closing.add(closing)
        closing.add_done_callback(self._closing.discard)

    def _open_channel(self) -> _Channel:
        """The channel to ask on. c-ares keeps every answer for as long as it holds, without a bound and with no way to
        forbid it (4 KB for each host), so a channel is given up after a while; whoever asked on it last closes it."""
        channel = self._channel
        if channel.asked >= _MOST_ASKED and channel.under_way:
            channel = self._channel = _Channel(self._made())
        channel.asked += 1
        return channel

    async def _query_alone(self, host: str, kind: str) -> list[Any] | None:
        """Ask on a channel where no other question is under way. When a server answers one question with garbage,
        c-ares fails every question on that channel, and nobody can tell whose the garbage was; and it does not say when
        this machine had no descriptor or memory for a question."""
        async with self._alone:
            channel = self._idle_channel()
            channel.asked += 1
            answered = False
            try:
                found = await self._answer(channel.dns, host, kind)
                answered = True
            except aiodns.error.DNSError as error:
                answered = True
                if error.args[0] in _NO_SUCH:
                    return []
            except TimeoutError:
                pass
            else:
                return found
            finally:
                # Without an answer it is given up: one that comes late would be taken for the next question's.
                if answered and channel.asked < _MOST_ASKED:
                    self._idle.append(channel)
                else:
                    self._give_up(channel)
        _check_sockets()
        return None

    def _idle_channel(self) -> _Channel:
        try:
            return self._idle.pop() if self._idle else _Channel(self._made())
        except pycares.AresError as error:
            raise _NoSocket(Shortage("memory", f"c-ares: {error}")) from error

    async def _answer(self, dns: aiodns.DNSResolver, host: str, kind: str) -> list[Any]:
        async with asyncio.timeout(self.config.timeout_s):
            return list((await dns.query_dns(host, kind)).answer)


def _check_sockets() -> None:
    """_NoSocket when this machine makes none."""
    try:
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM).close()
    except OSError as error:
        shortage = socket_shortage(error)
        if shortage is not None:
            raise _NoSocket(shortage) from error


class StaticConfig(Config, frozen=True):
    hosts: dict[str, tuple[str, ...]] = msgspec.field(default_factory=dict)
    """The addresses of each name, in the order to be tried. Other names have none."""
    ttl_s: float = 3600.0
    """How long an answer holds."""


class StaticResolver(Provider):
    """Knows the hosts of its configuration and no others, and asks nobody."""

    Config = StaticConfig

    def __init__(self, config: StaticConfig | None = None) -> None:
        super().__init__(config)
        self._hosts = {_folded(name): addresses for name, addresses in self.config.hosts.items()}

    async def resolve(self, host: str) -> Resolution:
        return read_literal(host) or Resolution(self._hosts.get(_folded(host), ()), self.config.ttl_s)


def _folded(name: str) -> str:
    """Case and a trailing dot make no other name (RFC 4343; RFC 1034 §3.1)."""
    return name.removesuffix(".").lower()


def read_literal(host: str) -> Resolution | None:
    """The answer for a host that is an address; None when it is a name. Decimal, octal and short spellings of IPv4 are
    names here: reading a URL has turned them into the common one."""
    if not host or not (host[0] == "[" or host[-1].isdigit() or ":" in host):
        return None
    try:
        address = ipaddress.ip_address(host[1:-1] if host[0] == "[" and host[-1] == "]" else host)
    except ValueError:
        return None
    return Resolution((str(address),), _FOR_EVER_S)
