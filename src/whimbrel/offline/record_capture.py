"""What the archive keeps of a record that another program wrote: the same kind, under the same id, with the fields that
stood beside it."""

import hashlib
from base64 import b32decode
from typing import Final

import msgspec

from whimbrel.archive.api import (
    Capture,
    ConversionCapture,
    MetadataCapture,
    Profile,
    Reference,
    ResourceCapture,
    ResponseCapture,
    RevisitCapture,
)
from whimbrel.fetch.body import MemoryDocument
from whimbrel.offline.foreign_warc import ForeignRecord

_SHA1_CHARS: Final = 32


def restored(capture: Capture, record: ForeignRecord) -> Capture:
    """What a crawl would keep of a visit, with what only the record knows."""
    if isinstance(capture, ResponseCapture):
        return msgspec.structs.replace(capture, metadata=record.metadata, record_id=record.record_id)
    if isinstance(capture, RevisitCapture):
        refers_to = _refers_to(record, capture)
        return msgspec.structs.replace(
            capture, refers_to=refers_to, metadata=record.metadata, record_id=record.record_id
        )
    return capture


def _refers_to(record: ForeignRecord, capture: RevisitCapture) -> Reference | None:
    """What a revisit says itself, unless its payload was found at another URL."""
    said, known = record.refers_to, capture.refers_to
    return known if said is None or (known is not None and known.url != said.url) else said


def record_capture(record: ForeignRecord) -> Capture:
    """A record as it stands."""
    if record.kind == "revisit":
        profile: Profile = "server-not-modified" if record.not_modified else "identical-payload-digest"
        return RevisitCapture(
            *(record.target, record.at_s, record.address, "", record.request_head, record.head),
            *(profile, record.refers_to, _sha1(record.digest), "", record.metadata, record.record_id),
        )
    data = record.payload or b""
    payload, digest = MemoryDocument(data), hashlib.sha1(data, usedforsecurity=False).digest()
    if record.kind == "response":
        return ResponseCapture(
            *(record.target, record.at_s, record.address, "", record.request_head, record.head),
            *(payload, digest, record.truncated, record.metadata, record.record_id),
        )
    name, truncated = record.record_id, record.truncated
    if record.kind == "resource":
        return ResourceCapture(
            *(record.target, record.at_s, record.content_type, payload, digest),
            *(record.address, truncated, record.metadata, name),
        )
    if record.kind == "conversion":
        content_type, refers_to = record.content_type, record.refers_to
        return ConversionCapture(record.target, record.at_s, content_type, payload, digest, refers_to, truncated, name)
    common = (record.target, record.at_s, payload, digest, record.content_type)
    return MetadataCapture(*common, record.refers_to, truncated, name)


def _sha1(text: str) -> bytes:
    """A digest as records name it; empty for one of another kind."""
    name, _, value = text.partition(":")
    try:
        return b32decode(value) if name.lower() == "sha1" and len(value) == _SHA1_CHARS else b""
    except ValueError:
        return b""
