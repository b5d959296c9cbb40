"""WARC/1.1 records (ISO 28500:2017) as bytes, not yet compressed.

A record is a sequence of parts whose concatenation it is, so that a large payload is never copied to join it to its
header. Record ids are computed, not drawn: from the segment, the offset and the capture. A capture that is written
again after a cut gets the ids it would have had; another crawl's get others, since time and place differ.
"""

import re
import time
from functools import lru_cache
from hashlib import blake2b, sha1

from whimbrel.archive.api import (
    Capture,
    ConversionCapture,
    Fields,
    MetadataCapture,
    Reference,
    ResourceCapture,
    ResponseCapture,
    RevisitCapture,
)
from whimbrel.archive.head import stored_head, stored_request

Parts = tuple[bytes, ...]

_END = b"\r\n\r\n"
_BASE32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
_RESPONSE = "application/http;msgtype=response"
_PROFILE = "http://netpreserve.org/warc/1.1/revisit/"
_UNSAFE_IN_URL = re.compile(r"[^!-~]")
_UNSAFE_IN_LINE = re.compile(r"[\x00-\x1f\x7f]+")
_RECORD_ID = re.compile(r"<[!-;=?-~]+>")
_UNSAFE_IN_NAME = re.compile(r"[^0-9A-Za-z_.-]+")


class Ids:
    """The ids of one capture's records: one hash, and a digit for the kind of record. The first record keeps the id
    that it has already, if that can stand in a header."""

    def __init__(self, segment: str, offset: int, seed: str, first: str = "") -> None:
        key = f"{segment}\n{offset}\n{seed}".encode(errors="surrogatepass")
        text = blake2b(key, digest_size=16, person=b"warc record id").hexdigest()
        # RFC 9562: version 8 is for schemes of one's own.
        self._stem = f"<urn:uuid:{text[:8]}-{text[8:12]}-8{text[13:16]}-a{text[17:20]}-{text[20:31]}"
        self.first = first if first and _RECORD_ID.fullmatch(first) else self._stem + "0>"

    @property
    def request(self) -> str:
        return self._stem + "1>"

    @property
    def metadata(self) -> str:
        return self._stem + "2>"

    @property
    def warcinfo(self) -> str:
        return self._stem + "3>"


def capture_records(capture: Capture, segment: str, offset: int) -> list[Parts]:
    """The records of a capture that begins at `offset`. The first holds its content; the others name that one."""
    ids = Ids(segment, offset, f"{capture.url}\n{capture.at_s!r}", capture.record_id)
    common = f"WARC-Date: {warc_date(capture.at_s)}\r\n"
    if capture.url:
        common += f"WARC-Target-URI: {safe_url(capture.url)}\r\n"
    if isinstance(capture, ResponseCapture | RevisitCapture):
        return _exchange(capture, ids, common)
    if isinstance(capture, ResourceCapture):
        common += _address(capture.address)
        return [_derived("resource", capture, ids.first, common), *_beside(capture.metadata, ids, common)]
    kind = "conversion" if isinstance(capture, ConversionCapture) else "metadata"
    return [_derived(kind, capture, ids.first, common + _refers_to(capture.refers_to))]


def _exchange(capture: ResponseCapture | RevisitCapture, ids: Ids, common: str) -> list[Parts]:
    common += _address(capture.address)
    protocol = _protocol(capture)
    if isinstance(capture, ResponseCapture):
        records = [_response(capture, ids.first, common + protocol)]
    else:
        records = [_revisit(capture, ids.first, common + protocol)]
    if capture.request_head:
        # Without a digest of its own: the member's checksum guards it, and a digest would double what the record costs.
        about = f"WARC-Concurrent-To: {ids.first}\r\n{common}{protocol}"
        head = stored_request(capture.request_head)
        records.append(_record("request", ids.request, about, "application/http;msgtype=request", head))
    return [*records, *_beside(capture.metadata, ids, common)] if capture.metadata else records


def _beside(fields: Fields, ids: Ids, common: str) -> list[Parts]:
    about = f"WARC-Concurrent-To: {ids.first}\r\n{common}"
    return [_fields("metadata", ids.metadata, about, fields)] if fields else []


def _address(address: str) -> str:
    return f"WARC-IP-Address: {address}\r\n" if address else ""


def warcinfo_record(segment: str, at_s: float, info: Fields) -> Parts:
    """The first record of a segment, whose first capture was made at `at_s`."""
    name = segment.rpartition("/")[2]
    about = f"WARC-Date: {warc_date(at_s)}\r\nWARC-Filename: {name}\r\n"
    return _fields("warcinfo", Ids(segment, 0, repr(at_s)).warcinfo, about, info)


def warc_date(at_s: float) -> str:
    """UTC with microseconds, which WARC/1.1 allows (1.0 knew seconds only)."""
    whole_s, micro = divmod(round(at_s * 1_000_000), 1_000_000)
    return f"{_second(whole_s)}.{micro:06d}Z"


@lru_cache(maxsize=64)
def _second(whole_s: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(whole_s))


_PAIRS = tuple(one + other for one in _BASE32 for other in _BASE32)
_SHIFTS = tuple(range(150, -1, -10))


@lru_cache(maxsize=8192)
def digest_text(digest: bytes) -> str:
    """`sha1:` and base 32. Ten bits at a time: 2 µs, where the standard library takes 6. Each is asked for three times:
    by the record, its line of the index, and its row."""
    number = int.from_bytes(digest)
    return "sha1:" + "".join([_PAIRS[number >> shift & 1023] for shift in _SHIFTS])


def record_kind(capture: Capture) -> str:
    """The type of a capture's first record."""
    return _KINDS[type(capture)]


_KINDS: dict[type, str] = {
    ResponseCapture: "response",
    RevisitCapture: "revisit",
    ResourceCapture: "resource",
    ConversionCapture: "conversion",
    MetadataCapture: "metadata",
}


def _response(capture: ResponseCapture, record_id: str, common: str) -> Parts:
    head, payload = stored_head(capture.response_head), capture.payload.read()
    about = f"{common}WARC-Payload-Digest: {digest_text(capture.digest)}\r\n"
    if capture.truncated:
        about += f"WARC-Truncated: {_safe_line(capture.truncated)}\r\n"
    if not payload:
        about += _block_digest(head)  # hashing a payload a second time would cost more than the rest of the record
    return _record("response", record_id, about, _RESPONSE, head, payload)


def _revisit(capture: RevisitCapture, record_id: str, common: str) -> Parts:
    head = stored_head(capture.response_head)
    about = f"{common}WARC-Profile: {_PROFILE}{capture.profile}\r\n{_refers_to(capture.refers_to)}"
    if capture.digest:
        about += f"WARC-Payload-Digest: {digest_text(capture.digest)}\r\n"
    truncated = capture.truncated
    if capture.profile == "identical-payload-digest":
        # §6.7.2: a block that was cut because its payload is kept elsewhere says so with reason `length`.
        truncated = truncated or "length"
    if truncated:
        about += f"WARC-Truncated: {_safe_line(truncated)}\r\n"
    return _record("revisit", record_id, about + _block_digest(head), _RESPONSE, head)


def _derived(
    kind: str, capture: ResourceCapture | ConversionCapture | MetadataCapture, record_id: str, about: str
) -> Parts:
    """A record whose block is its payload."""
    about += f"WARC-Payload-Digest: {digest_text(capture.digest)}\r\n"
    if capture.truncated:
        about += f"WARC-Truncated: {_safe_line(capture.truncated)}\r\n"
    return _record(kind, record_id, about, stored_type(capture.content_type), capture.payload.read())


def stored_type(content_type: str) -> str:
    """A content type as it is written. A record must have one (§5.6), and it must not end its line."""
    return _safe_line(content_type) or "application/octet-stream"


def _fields(kind: str, record_id: str, about: str, fields: Fields) -> Parts:
    lines = "".join([f"{_safe_name(name)}: {_safe_line(value)}\r\n" for name, value in fields])
    return _record(kind, record_id, about, "application/warc-fields", lines.encode(errors="replace"))


def _record(kind: str, record_id: str, about: str, content_type: str, *block: bytes) -> Parts:
    header = (
        f"WARC/1.1\r\nWARC-Type: {kind}\r\nWARC-Record-ID: {record_id}\r\n{about}"
        f"Content-Type: {content_type}\r\nContent-Length: {sum(map(len, block))}\r\n\r\n"
    )
    return (header.encode(), *block, _END)


def _refers_to(reference: Reference | None) -> str:
    if reference is None:
        return ""
    text = f"WARC-Refers-To: {reference.record_id}\r\n" if _RECORD_ID.fullmatch(reference.record_id) else ""
    if reference.url:
        url, date = safe_url(reference.url), warc_date(reference.at_s)
        text += f"WARC-Refers-To-Target-URI: {url}\r\nWARC-Refers-To-Date: {date}\r\n"
    return text


def _block_digest(block: bytes) -> str:
    return f"WARC-Block-Digest: {digest_text(sha1(block, usedforsecurity=False).digest())}\r\n"


def _protocol(capture: ResponseCapture | RevisitCapture) -> str:
    """WARC-Protocol as proposed in iipc/warc-specifications issue 42, with the names used there."""
    version = capture.http_version
    if version.startswith("2"):
        return f"WARC-Protocol: {'h2' if capture.url.startswith('https:') else 'h2c'}\r\n"
    return f"WARC-Protocol: http/{version}\r\n" if version else ""


def safe_url(url: str) -> str:
    """A parsed URL is plain ASCII already. One that is not must not end a header line."""
    if not _UNSAFE_IN_URL.search(url):
        return url
    return _UNSAFE_IN_URL.sub(lambda found: "".join(f"%{byte:02X}" for byte in found[0].encode(errors="replace")), url)


@lru_cache(maxsize=64)
def _safe_name(name: str) -> str:
    return _UNSAFE_IN_NAME.sub("-", name)


def _safe_line(value: str) -> str:
    return value.strip() if value.isprintable() else _UNSAFE_IN_LINE.sub(" ", value).strip()
