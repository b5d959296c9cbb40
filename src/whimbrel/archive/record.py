"""WARC/1.1 records (ISO 28500:2017) as bytes, not yet compressed.

A record is a sequence of parts whose concatenation it is, so that a large payload is never copied to join it to its
header. Record ids are computed, not drawn: from the segment, the offset and the capture. A capture that is written
again after a cut gets the ids it would have had; another crawl's get others, since time and place differ.
"""

import re
import time
from functools import lru_cache
from hashlib import blake2b, sha1

from whimbrel.archive.api import Capture
from whimbrel.archive.head import stored_head, stored_request

Parts = tuple[bytes, ...]

_END = b"\r\n\r\n"
_BASE32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
_EMPTY_DIGEST = sha1(b"", usedforsecurity=False).digest()
_PROFILE = "http://netpreserve.org/warc/1.1/revisit/"
_NOT_MODIFIED = re.compile(rb"[^ \n]* +304(?![0-9])")
_UNSAFE_IN_URL = re.compile(r"[^!-~]")
_UNSAFE_IN_LINE = re.compile(r"[\x00-\x1f\x7f]+")
_UNSAFE_IN_NAME = re.compile(r"[^0-9A-Za-z_.-]+")


class Ids:
    """The ids of one capture's records: one hash, and a digit for the kind of record."""

    def __init__(self, segment: str, offset: int, seed: str) -> None:
        key = f"{segment}\n{offset}\n{seed}".encode(errors="surrogatepass")
        text = blake2b(key, digest_size=16, person=b"warc record id").hexdigest()
        # RFC 9562: version 8 is for schemes of one's own.
        self._stem = f"<urn:uuid:{text[:8]}-{text[8:12]}-8{text[13:16]}-a{text[17:20]}-{text[20:31]}"
        self.response = self._stem + "0>"

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
    """The records of a capture that begins at `offset`: the response or revisit first, the others name it."""
    ids = Ids(segment, offset, f"{capture.url}\n{capture.at_s!r}")
    date, url = warc_date(capture.at_s), safe_url(capture.url)
    common = f"WARC-Date: {date}\r\nWARC-Target-URI: {url}\r\n"
    if capture.address:
        common += f"WARC-IP-Address: {capture.address}\r\n"
    protocol = _protocol(capture)
    beside = f"WARC-Concurrent-To: {ids.response}\r\n{common}"
    records = [
        _answer(capture, ids.response, common + protocol),
        _request(capture, ids.request, beside + protocol),
    ]
    if capture.metadata:
        records.append(_fields("metadata", ids.metadata, beside, capture.metadata))
    return records


def warcinfo_record(segment: str, at_s: float, info: tuple[tuple[str, str], ...]) -> Parts:
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


def answer_kind(capture: Capture, head: bytes) -> tuple[str, str]:
    """The type of a capture's first record, and the payload digest it states; `head` is as stored."""
    if _NOT_MODIFIED.match(head):
        return "revisit", ""
    if capture.original is not None:
        return "revisit", digest_text(capture.digest)
    return "response", digest_text(capture.digest if capture.keep_body else _EMPTY_DIGEST)


def _answer(capture: Capture, record_id: str, common: str) -> Parts:
    head = stored_head(capture.response_head)
    if _NOT_MODIFIED.match(head):
        about = common + _refers_to(capture, "server-not-modified")
        return _record("revisit", record_id, about + _block_digest(head), "application/http;msgtype=response", head)
    if capture.original is not None:
        # §6.7.2: a block that was cut because its payload is kept elsewhere says so with reason `length`.
        about = common + _refers_to(capture, "identical-payload-digest")
        about += (
            f"WARC-Payload-Digest: {digest_text(capture.digest)}\r\nWARC-Truncated: {capture.truncated or 'length'}\r\n"
        )
        return _record("revisit", record_id, about + _block_digest(head), "application/http;msgtype=response", head)
    payload = capture.payload.read() if capture.keep_body else b""
    digest = capture.digest if capture.keep_body else _EMPTY_DIGEST
    truncated = capture.truncated if capture.keep_body else "unspecified"
    about = f"{common}WARC-Payload-Digest: {digest_text(digest)}\r\n"
    if truncated:
        about += f"WARC-Truncated: {truncated}\r\n"
    if not payload:
        about += _block_digest(head)  # hashing a payload a second time would cost more than the rest of the record
    return _record("response", record_id, about, "application/http;msgtype=response", head, payload)


def _request(capture: Capture, record_id: str, about: str) -> Parts:
    # Without a digest of its own: the member's checksum guards it, and a digest would double what the record costs.
    return _record(
        "request", record_id, about, "application/http;msgtype=request", stored_request(capture.request_head)
    )


def _fields(kind: str, record_id: str, about: str, fields: tuple[tuple[str, str], ...]) -> Parts:
    lines = "".join([f"{_safe_name(name)}: {_safe_line(value)}\r\n" for name, value in fields])
    return _record(kind, record_id, about, "application/warc-fields", lines.encode(errors="replace"))


def _record(kind: str, record_id: str, about: str, content_type: str, *block: bytes) -> Parts:
    header = (
        f"WARC/1.1\r\nWARC-Type: {kind}\r\nWARC-Record-ID: {record_id}\r\n{about}"
        f"Content-Type: {content_type}\r\nContent-Length: {sum(map(len, block))}\r\n\r\n"
    )
    return (header.encode(), *block, _END)


def _refers_to(capture: Capture, profile: str) -> str:
    text = f"WARC-Profile: {_PROFILE}{profile}\r\n"
    if capture.original is not None:
        url, date = safe_url(capture.original.url), warc_date(capture.original.at_s)
        text += f"WARC-Refers-To-Target-URI: {url}\r\nWARC-Refers-To-Date: {date}\r\n"
    return text


def _block_digest(block: bytes) -> str:
    return f"WARC-Block-Digest: {digest_text(sha1(block, usedforsecurity=False).digest())}\r\n"


def _protocol(capture: Capture) -> str:
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
