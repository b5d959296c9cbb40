"""A host as the frontier knows it: on disk always, in memory while it is being visited or has been lately."""

from collections import OrderedDict
from typing import Final

import msgspec

from whimbrel.cache import ByteCache
from whimbrel.frontier.api import HostSummary
from whimbrel.frontier.crawl_time import CrawlTime
from whimbrel.qualify.api import Qualification
from whimbrel.qualify.robots import RobotsRules
from whimbrel.state.api import SLOT_BYTES, State
from whimbrel.url import Url, slot
from whimbrel.url.domain import Domains
from whimbrel.url.key import Keys
from whimbrel.visit import HostName

_EVICTED_AT_ONCE: Final = 4
BUFFER: Final = 128
_BUFFER_BYTES: Final = 64_000
"""Entries of a queue that are read ahead, and what they may take; one there is in any case."""
_HOST_BYTES: Final = 1_600
_ENTRY_BYTES: Final = 180
"""What a host and an entry of its buffer take besides their texts."""
_IDS_BYTES: Final = 8_000_000


class HostRecord(msgspec.Struct, array_like=True):
    """What is kept of a host. The text of its robots.txt has a space of its own: it can be long, and rarely changes."""

    name: HostName
    queued: int = 0
    """Entries without a final outcome, those under way and those to be tried again included."""
    waiting: int = 0
    """Of these, those that wait to be tried again."""
    head: bytes = b""
    """No entry of the queue is before this key."""
    due: bytes = b""
    """The key under which it stands in the schedule; empty when it does not."""
    qualification: Qualification | None = None
    """Its times are the crawl's, but for when robots.txt was asked for, which is a record."""
    ruled: bool = False
    """Its robots.txt has rules for us."""
    taken: int = 0
    """Requests made for its pages."""
    fetched: int = 0
    failed: int = 0
    failures_in_row: int = 0
    """Of connections, TLS or DNS."""
    parked: int = 0
    """How often in a row it has been parked."""
    given_up: str = ""
    """The reason that all its URLs end with, once it is given up."""
    not_before_s: float = 0.0
    """What the host asked for by Retry-After, or until when it is parked, in the crawl's time (`crawl_time.py`)."""
    last_error: str = ""
    unruled: bool = False
    """The user says that it may be visited although its robots.txt cannot be obtained."""
    number: int = 0
    """Entries that were ever queued for it: what makes their keys unique. 0 only for a host that nobody knows."""


encode_host: Final = msgspec.msgpack.Encoder().encode
decode_host: Final = msgspec.msgpack.Decoder(HostRecord).decode


class Host:
    """`buffer` has the next entries, the nearest last; `whole` says that the disk has no others."""

    __slots__ = ("buffer", "busy", "bytes", "changed", "counted_bytes", "id", "last", "noted", "out", "record", "whole")

    def __init__(self, id_: bytes, record: HostRecord, *, whole: bool) -> None:
        self.id = id_
        self.record = record
        self.buffer: list[tuple[bytes, bytes]] = []
        self.whole = whole
        self.last = b""
        """Every entry up to this key is in the buffer or under way."""
        self.out: set[bytes] = set()
        """Keys of the entries under way."""
        self.busy = False
        """It is out of the schedule: a request is under way, the qualifier has it, or it stands in line at the gate."""
        self.changed = False
        self.noted = False
        """Its row in the table of hosts is out of date."""
        self.bytes = _HOST_BYTES + 3 * len(record.name.site)
        """What it takes in memory, about."""
        self.counted_bytes = 0
        """What the table knows of that."""

    @property
    def name(self) -> HostName:
        return self.record.name

    @property
    def pending(self) -> int:
        """Entries that can be taken."""
        return self.record.queued - self.record.waiting - len(self.out)

    def insert(self, key: bytes, value: bytes) -> None:
        """A new entry, which is on its way to the disk, enters the buffer if it belongs there."""
        if not self.whole and key > self.last:
            return
        buffer = self.buffer
        if not buffer or key < buffer[-1][0]:
            buffer.append((key, value))
        elif key > buffer[0][0]:
            buffer.insert(0, (key, value))
        else:
            _insert_descending(buffer, key, value)
        self.bytes += _ENTRY_BYTES + len(value)
        if len(buffer) > 2 * BUFFER or self.bytes > _HOST_BYTES + 2 * _BUFFER_BYTES:
            self._shorten()

    def fill(self, entries: list[tuple[bytes, bytes]]) -> None:
        """The next entries, read from the disk into an empty buffer, the nearest last."""
        self.buffer = entries
        self.bytes += sum(_ENTRY_BYTES + len(value) for _, value in entries)
        if self.bytes > _HOST_BYTES + 2 * _BUFFER_BYTES:
            self._shorten()

    def pop(self) -> bytes:
        """The nearest entry goes under way; its key."""
        key, value = self.buffer.pop()
        self.bytes -= _ENTRY_BYTES + len(value)
        self.out.add(key)
        return key

    def shed(self) -> None:
        """Give the buffer back: the disk has its entries."""
        self._cut(len(self.buffer))
        self.last = b""

    def _shorten(self) -> None:
        """Down to half of what the buffer may hold."""
        cut, left_bytes = 0, self.bytes
        while cut < len(self.buffer) - 1 and (
            len(self.buffer) - cut > BUFFER or left_bytes > _HOST_BYTES + _BUFFER_BYTES
        ):
            left_bytes -= _ENTRY_BYTES + len(self.buffer[cut][1])
            cut += 1
        if cut:
            self._cut(cut)
            self.last = self.buffer[0][0]

    def _cut(self, count: int) -> None:
        """Forget the entries that are furthest."""
        self.bytes -= sum(_ENTRY_BYTES + len(value) for _, value in self.buffer[:count])
        del self.buffer[:count]
        self.whole = False


def _insert_descending(buffer: list[tuple[bytes, bytes]], key: bytes, value: bytes) -> None:
    low, high = 0, len(buffer)
    while low < high:
        middle = (low + high) // 2
        if buffer[middle][0] > key:
            low = middle + 1
        else:
            high = middle
    buffer.insert(low, (key, value))


def summary_of(host: Host, crawl_time: CrawlTime) -> HostSummary:
    """For people, with times of the wall clock."""
    record, name = host.record, host.record.name
    found = record.qualification
    standing, until_s, address, at_s, status, failures, delay_s = "new", None, "", None, 0, 0, 0.0
    if found is not None:
        standing, until_s, at_s = found.standing, crawl_time.on_wall_s(found.until_s), found.robots_at_s or None
        address = found.addresses[0] if found.addresses else ""
        status, failures, delay_s = found.robots_status, found.failures, found.crawl_delay_s
    if record.given_up:
        standing = "given-up"
    elif record.parked:
        standing = "parked"
    return HostSummary(
        *(name, address, standing, until_s, at_s, status, failures, delay_s),
        *(record.queued, record.fetched, record.failed, record.last_error),
    )


class HostTable:
    """Hosts by their ten bytes: a slot and a keyed hash. Keeps the latest in memory; changed ones go to the open
    group when it is sealed, and are not forgotten before. Rules of robots.txt have a budget of their own: those of one
    host may take as much as a thousand hosts."""

    def __init__(
        self,
        state: State,
        keys: Keys,
        domains: Domains,
        *,
        by_domain: bool,
        most_bytes: int = 64_000_000,
        rules_bytes: int = 48_000_000,
    ) -> None:
        self._state = state
        self._keys = keys
        self._domains = domains
        self._by_domain = by_domain
        self._left_bytes = most_bytes
        """Of the budget; less than nothing while it is overdrawn."""
        self._rules: OrderedDict[bytes, RobotsRules] = OrderedDict()
        self._rules_left_bytes = rules_bytes
        self._hosts: OrderedDict[bytes, Host] = OrderedDict()
        self._ids: ByteCache[str, bytes] = ByteCache(_IDS_BYTES, _size)
        self._changed: list[Host] = []
        self._written: list[Host] = []
        """Those that were written since the last `flush`."""

    def id_of(self, site: str, host: str) -> bytes:
        found = self._ids.get(site)
        if found is None:
            where = slot(self._domains.registered(host) if self._by_domain else host)
            found = where.to_bytes(SLOT_BYTES, "big") + self._keys.host(site)
            self._ids.put(site, found)
        return found

    def url_key(self, url: Url) -> bytes:
        """What a URL is known by: its slot and the hash of its text."""
        site = url.site
        id_ = self._ids.young.get(site) or self.id_of(site, url.host)
        return id_[:SLOT_BYTES] + self._keys.url(url.text)

    def of(self, url: Url) -> Host:
        """The host of a URL, a new one if nobody knows it."""
        site = url.site
        id_ = self.id_of(site, url.host)
        host = self._hosts.get(id_)
        if host is None:
            host = self._load(id_)
            if host is None:
                domain, where = self._domains.registered(url.host), int.from_bytes(id_[:SLOT_BYTES], "big")
                name = HostName(site, url.scheme, url.host, url.port, domain, where)
                host = Host(id_, HostRecord(name), whole=True)
            self._keep(host)
        return host

    def get(self, id_: bytes) -> Host:
        """A host that is known to exist."""
        host = self._hosts.get(id_)
        if host is None:
            host = self._load(id_)
            if host is None:
                raise AssertionError(f"host {id_.hex()} is scheduled and has no record")
            self._keep(host)
        else:
            self._hosts.move_to_end(id_)
        return host

    def find(self, site: str, host: str) -> Host | None:
        """A host, if it is known."""
        id_ = self.id_of(site, host)
        found = self._hosts.get(id_)
        if found is None:
            found = self._load(id_)
            if found is not None:
                self._keep(found)
        return found

    def change(self, host: Host) -> None:
        if host.bytes != host.counted_bytes:
            self.count(host)
        if not host.changed:
            host.changed = True
            self._changed.append(host)

    def count(self, host: Host) -> None:
        """It takes more memory than before, or less."""
        self._left_bytes -= host.bytes - host.counted_bytes
        host.counted_bytes = host.bytes

    def loaded(self) -> list[Host]:
        """Every host in memory."""
        return list(self._hosts.values())

    def flush(self) -> list[Host]:
        """Write what changed to the open group; returns the hosts whose rows are out of date."""
        stale: list[Host] = []
        for host in dict.fromkeys(self.write_down()):
            if host.noted or not host.record.queued:
                host.noted = False
                stale.append(host)
        self._written.clear()
        return stale

    def write_down(self) -> list[Host]:
        """Write what changed to the open group; returns what did since the last `flush`."""
        changed, self._changed = self._changed, []
        for host in changed:
            host.changed = False
            self._state.put("hosts", host.id, encode_host(host.record))
        self._written += changed
        self._evict(len(changed))
        return self._written

    def check_idle(self, slot: bytes) -> None:
        """No host of a slot may be with the qualifier, in a line, or have a visit under way."""
        for host in self._hosts.values():
            if host.id.startswith(slot) and (host.busy or host.out):
                raise AssertionError(f"{host.name.site} is being visited: its slot cannot be moved")

    def forget(self, slot: bytes) -> None:
        """Nothing of a slot is kept in memory any more; what changed in it is lost."""
        self._changed = [host for host in self._changed if not host.id.startswith(slot)]
        self._written = [host for host in self._written if not host.id.startswith(slot)]
        for id_ in [id_ for id_ in self._hosts if id_.startswith(slot)]:
            self._left_bytes += self._hosts.pop(id_).counted_bytes
            self._forget_rules(id_)

    def qualify(self, host: Host, found: Qualification, note: str) -> None:
        """Keep the qualifier's answer; `note` is for people. Sitemaps were queued by now."""
        if found.robots is not None:
            self._remember_robots(host, found.robots)
            host.record.ruled = bool(found.robots)
            self._forget_rules(host.id)
        self._keep_standing(host, found, note)

    def refresh(self, host: Host, found: Qualification) -> None:
        """Keep the addresses that the qualifier has found, or that there are none; rules stay what they were."""
        if found.standing == "qualified":
            before = host.record.qualification
            host.record.qualification = found
            host.noted = host.noted or before is None or before.addresses[:1] != found.addresses[:1]
            self.change(host)
        else:
            self._keep_standing(host, found, "")

    def _keep_standing(self, host: Host, found: Qualification, note: str) -> None:
        record = host.record
        record.qualification = msgspec.structs.replace(found, robots="", sitemaps=())
        if found.standing == "for-good":
            record.given_up = found.reason or "robots-unreachable"
        error = "; ".join(filter(None, (found.detail, note)))
        if error:
            record.last_error = error
        host.noted = True
        self.change(host)

    def _remember_robots(self, host: Host, text: str) -> None:
        if text:
            self._state.put("robots", host.id, text.encode("utf-8", "surrogateescape"))
        else:
            self._state.delete("robots", host.id)

    def robots(self, host: Host) -> str:
        found = self._state.get("robots", host.id)
        return "" if found is None else found.decode("utf-8", "surrogateescape")

    def rules(self, host: Host, agent: str) -> RobotsRules:
        """Those that were asked for lately are in memory."""
        found = self._rules.get(host.id)
        if found is None:
            found = self._rules[host.id] = RobotsRules.parse(self.robots(host), agent)
            self._rules_left_bytes -= found.bytes
            while self._rules_left_bytes < 0 and len(self._rules) > 1:
                self._forget_rules(next(iter(self._rules)))
        else:
            self._rules.move_to_end(host.id)
        return found

    def _forget_rules(self, id_: bytes) -> None:
        forgotten = self._rules.pop(id_, None)
        if forgotten is not None:
            self._rules_left_bytes += forgotten.bytes

    def _load(self, id_: bytes) -> Host | None:
        found = self._state.get("hosts", id_)
        return None if found is None else Host(id_, decode_host(found), whole=False)

    def _keep(self, host: Host) -> None:
        self._hosts[host.id] = host
        self._evict(_EVICTED_AT_ONCE)
        self.count(host)

    def _evict(self, most: int) -> None:
        """Forget hosts that have been idle longest; those that are busy or changed get another turn, but not their
        buffers. Few are looked at each time: when all have changed since the last commit nobody should look for one
        that has not."""
        for _ in range(min(most, len(self._hosts) - 1)):
            if self._left_bytes >= 0:
                return
            id_, host = self._hosts.popitem(last=False)
            if host.busy or host.changed or host.out:
                self._hosts[id_] = host
                host.shed()
                self.count(host)
            else:
                self._left_bytes += host.counted_bytes


def _size(site: str, _: bytes) -> int:
    return len(site)
