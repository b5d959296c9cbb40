"""What the frontier keeps of a URL: its entry in a queue, and the record that finds the entry."""

from typing import Final

import msgspec

from whimbrel.url import restore
from whimbrel.visit import Discovered, Visit, pack_details, unpack_details


class QueueEntry(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """A queued URL."""

    url: str
    depth: int
    redirects: int
    attempt: int
    source: str
    details: bytes = b""
    """Of its request (`visit.pack_details`); empty for a plain one."""


class UrlRecord(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """What is kept of every URL that was ever admitted. Zeros cost a byte each."""

    entry: bytes = b""
    """The key in `queue` where its entry was last put; empty if it never was. When nothing is there any more the URL is
    not queued: so the end of a visit need not write here."""
    credit: int = 0
    """For orders by importance."""
    due_s: int = 0
    """For revisits."""


NEW_URL: Final = UrlRecord()
encode_entry: Final = msgspec.msgpack.Encoder().encode
decode_entry: Final = msgspec.msgpack.Decoder(QueueEntry).decode
_encode_record: Final = msgspec.msgpack.Encoder().encode
_decode_record: Final = msgspec.msgpack.Decoder(UrlRecord).decode


def encode_url(record: UrlRecord) -> bytes:
    return _encode_record(record)


def decode_url(value: bytes) -> UrlRecord:
    """An empty value is a URL that was never queued."""
    return _decode_record(value) if value else NEW_URL


def new_entry(found: Discovered) -> QueueEntry:
    return QueueEntry(found.url.text, found.depth, found.redirects, 1, found.source, pack_details(found.request))


def next_try(visit: Visit) -> QueueEntry:
    """The entry of a visit that is to be made again."""
    details = pack_details(visit.request)
    return QueueEntry(visit.url.text, visit.depth, visit.redirects, visit.attempt + 1, visit.source, details)


def visit_of(key: bytes, entry: QueueEntry, address: str, refusal: str = "") -> Visit:
    """The visit of an entry that was let out, or refused."""
    request = unpack_details(restore(entry.url), entry.details)
    return Visit(request, entry.depth, entry.source, entry.redirects, entry.attempt, address, key, refusal)
