"""A host as the frontier knows it: on disk always, in memory while it is being visited or has been lately."""

from collections import OrderedDict
from typing import Final

import msgspec

from whimbrel.frontier.api import HostSummary
from whimbrel.qualify.api import Qualification
from whimbrel.qualify.robots import RobotsRules
from whimbrel.state.api import SLOT_BYTES, State
from whimbrel.url import Url, slot
from whimbrel.url.domain import Domains
from whimbrel.url.key import Keys
from whimbrel.visit import HostName

_EVICTED_AT_ONCE: Final = 4
BUFFER: Final = 128
"""Entries of a queue that are read ahead."""


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
    """Wall clock; what the host asked for by Retry-After."""
    last_error: str = ""
    unruled: bool = False
    """The user says that it may be visited although its robots.txt cannot be obtained."""
    number: int = 0
    """Entries that were ever queued for it: what makes their keys unique. 0 only for a host that nobody knows."""


encode_host: Final = msgspec.msgpack.Encoder().encode
decode_host: Final = msgspec.msgpack.Decoder(HostRecord).decode


class Host:
    """`buffer` has the next entries, the nearest last; `whole` says that the disk has no others."""

    __slots__ = ("buffer", "busy", "changed", "id", "last", "noted", "out", "record", "rules", "whole")

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
        self.rules: RobotsRules | None = None

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
        if len(buffer) > 2 * BUFFER:
            del buffer[:BUFFER]
            self.whole = False
            self.last = buffer[0][0]


def _insert_descending(buffer: list[tuple[bytes, bytes]], key: bytes, value: bytes) -> None:
    low, high = 0, len(buffer)
    while low < high:
        middle = (low + high) // 2
        if buffer[middle][0] > key:
            low = middle + 1
        else:
            high = middle
    buffer.insert(low, (key, value))


def summary_of(host: Host) -> HostSummary:
    record, name = host.record, host.record.name
    found = record.qualification
    standing, until_s, address, at_s, status, failures, delay_s = "new", None, "", None, 0, 0, 0.0
    if found is not None:
        standing, until_s, at_s = found.standing, found.until_s, found.robots_at_s or None
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
    group when it is sealed, and are not forgotten before."""

    def __init__(self, state: State, keys: Keys, domains: Domains, *, by_domain: bool, most: int = 20_000) -> None:
        self._state = state
        self._keys = keys
        self._domains = domains
        self._by_domain = by_domain
        self._most = most
        self._hosts: OrderedDict[bytes, Host] = OrderedDict()
        self._ids: OrderedDict[str, bytes] = OrderedDict()
        self._changed: list[Host] = []
        self._written: list[Host] = []
        """Those that were written since the last `flush`."""

    def id_of(self, site: str, host: str) -> bytes:
        found = self._ids.get(site)
        if found is None:
            where = slot(self._domains.registered(host) if self._by_domain else host)
            found = self._ids[site] = where.to_bytes(SLOT_BYTES, "big") + self._keys.host(site)
            if len(self._ids) > self._most:
                self._ids.popitem(last=False)
        return found

    def url_key(self, url: Url) -> bytes:
        """What a URL is known by: its slot and the hash of its text."""
        site = url.site
        id_ = self._ids.get(site) or self.id_of(site, url.host)
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
        if not host.changed:
            host.changed = True
            self._changed.append(host)

    def loaded(self) -> list[Host]:
        """Every host in memory."""
        return list(self._hosts.values())

    def flush(self) -> list[HostSummary]:
        """Write what changed to the open group; returns the hosts whose rows are out of date."""
        stale: list[HostSummary] = []
        for host in dict.fromkeys(self.write_down()):
            if host.noted or not host.record.queued:
                host.noted = False
                stale.append(summary_of(host))
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
            del self._hosts[id_]

    def qualify(self, host: Host, found: Qualification, note: str) -> None:
        """Keep the qualifier's answer; `note` is for people."""
        self._remember_robots(host, found.robots)
        host.record.ruled = bool(found.robots)
        host.rules = None
        self._keep_standing(host, msgspec.structs.replace(found, robots=""), note)

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
        record.qualification = found
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
        if host.rules is None:
            host.rules = RobotsRules.parse(self.robots(host), agent)
        return host.rules

    def _load(self, id_: bytes) -> Host | None:
        found = self._state.get("hosts", id_)
        return None if found is None else Host(id_, decode_host(found), whole=False)

    def _keep(self, host: Host) -> None:
        self._hosts[host.id] = host
        self._evict(_EVICTED_AT_ONCE)

    def _evict(self, most: int) -> None:
        """Forget hosts that have been idle longest; those that are busy or changed get another turn. Few are looked at
        each time: when all have changed since the last commit nobody should look for one that has not."""
        for _ in range(min(most, len(self._hosts) - self._most)):
            id_, host = self._hosts.popitem(last=False)
            if host.busy or host.changed or host.out:
                self._hosts[id_] = host
