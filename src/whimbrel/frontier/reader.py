"""What the frontier of a crawl knows of a URL and of its host, read from a state that is not ours to change."""

from collections.abc import Iterator

import msgspec

from whimbrel.clock import SystemClock
from whimbrel.frontier.api import HostSummary
from whimbrel.frontier.crawl_time import CrawlTime
from whimbrel.frontier.entry import QueueEntry, decode_entry, decode_url
from whimbrel.frontier.host import Host, HostRecord, decode_host, summary_of
from whimbrel.frontier.meta import Meta, decode_slot, read_meta
from whimbrel.frontier.order import HOST_BYTES, is_waiting, time_of
from whimbrel.state.api import SLOT_BYTES, StoredPairs
from whimbrel.state.secret import stored_secret
from whimbrel.url import Url, slot
from whimbrel.url.domain import Domains
from whimbrel.url.key import SLOTS, Keys


class QueuedUrl(msgspec.Struct, frozen=True):
    """A URL that is queued."""

    entry: QueueEntry
    retry_at_s: float | None
    """When it is to be tried again, by the wall clock; None when it waits for its turn only."""


class StoredHost(msgspec.Struct, frozen=True):
    """A host as it was committed."""

    record: HostRecord
    summary: HostSummary
    not_before_s: float
    """Until when it is left alone, by the wall clock; 0 when it is not."""


class FrontierReader:
    def __init__(self, state: StoredPairs) -> None:
        self._state = state
        self._domains = Domains()
        secret = stored_secret(state)
        self._keys = None if secret is None else Keys(secret)
        meta = read_meta(state) or Meta()
        self._time = CrawlTime(SystemClock(), meta.at_s, meta.mark)

    def queued(self, url: Url) -> QueuedUrl | None:
        """Its entry in a queue; None when it is not queued."""
        for key in self._url_keys(url):
            record = decode_url(self._state.get("urls", key) or b"")
            found = self._state.get("queue", record.entry) if record.entry else None
            if found is not None:
                at_s = time_of(record.entry[HOST_BYTES + 1 :]) if is_waiting(record.entry) else None
                return QueuedUrl(decode_entry(found), None if at_s is None else self._time.on_wall_s(at_s))
        return None

    def host(self, url: Url) -> StoredHost | None:
        """The host of a URL; None when no URL of it was ever queued."""
        for key in self._host_keys(url):
            found = self._state.get("hosts", key)
            if found is not None:
                record = decode_host(found)
                rest_s = record.not_before_s and self._time.on_wall_s(record.not_before_s)
                return StoredHost(record, summary_of(Host(key, record, whole=False), self._time), rest_s)
        return None

    def robots(self, url: Url) -> str:
        """The robots.txt that its host had last; empty when that had no rules for us."""
        found = (self._state.get("robots", key) for key in self._host_keys(url))
        return next((text.decode("utf-8", "surrogateescape") for text in found if text is not None), "")

    def taken(self) -> int:
        """Requests for pages that are over, of all hosts."""
        counts = self._state.scan("slots", b"", SLOTS.to_bytes(SLOT_BYTES, "big"), SLOTS)
        return sum(decode_slot(value).taken for _, value in counts)

    def _slots(self, url: Url) -> Iterator[bytes]:
        """Hosts are grouped by their names, or by domains: the mode of the crawl decides (`FrontierConfig.mode`)."""
        for name in dict.fromkeys((url.host, self._domains.registered(url.host))):
            yield slot(name).to_bytes(SLOT_BYTES, "big")

    def _url_keys(self, url: Url) -> Iterator[bytes]:
        if self._keys is not None:
            yield from (where + self._keys.url(url.text) for where in self._slots(url))

    def _host_keys(self, url: Url) -> Iterator[bytes]:
        if self._keys is not None:
            yield from (where + self._keys.host(url.site) for where in self._slots(url))
