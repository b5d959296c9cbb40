"""From the body of a robots.txt, as received, to text. Whatever the bytes are, nothing here raises."""

import re
import zlib
from typing import Final

import brotli
import zstandard

_SURROGATE: Final = re.compile("[\udc80-\udcff]")
_MAX_CODINGS: Final = 4
_MAX_MEMBERS: Final = 64


def robots_text(body: bytes, content_encoding: str, max_bytes: int) -> str | None:
    """The first `max_bytes` after decoding, in whole lines, without a byte order mark; None when it cannot be decoded.

    A line that the limit cuts is left out: `Disallow: /private/` cut after the slash would forbid everything. Bytes
    that are not UTF-8 become escapes, which is how a URL spells them.
    """
    decoded = _decoded(body, content_encoding, max_bytes)
    if decoded is None:
        return None
    if len(decoded) > max_bytes:
        whole = max(decoded.rfind(b"\n", 0, max_bytes + 1), decoded.rfind(b"\r", 0, max_bytes + 1))
        decoded = decoded[: whole + 1]
    text = decoded.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "surrogateescape")
    return _SURROGATE.sub(lambda found: f"%{ord(found[0]) - 0xDC00:02X}", text)


def _decoded(body: bytes, content_encoding: str, max_bytes: int) -> bytes | None:
    """Up to one byte more than asked for, so that the caller sees that there was more."""
    codings = [coding.strip().lower() for coding in content_encoding.split(",")]
    codings = [coding for coding in codings if coding not in ("", "identity")]
    if len(codings) > _MAX_CODINGS:
        return None
    for coding in reversed(codings):
        try:
            found = _decode_one(body, coding, max_bytes + 1)
        except (zlib.error, brotli.error, zstandard.ZstdError, EOFError):
            return None
        if found is None:
            return None
        body = found
    return body[: max_bytes + 1]


def _decode_one(body: bytes, coding: str, most: int) -> bytes | None:
    """None for a coding that we did not offer, and for a body that ends before its coding does."""
    match coding:
        case "gzip" | "x-gzip":
            return _inflate(body, 16 + zlib.MAX_WBITS, most)
        case "deflate":
            # Two things have this name: with the wrapper of zlib, and without (RFC 9110 §8.4.1.2).
            wrapped = len(body) > 1 and body[0] & 15 == 8 and (body[0] << 8 | body[1]) % 31 == 0
            return _inflate(body, zlib.MAX_WBITS if wrapped else -zlib.MAX_WBITS, most)
        case "br":
            brotlied = brotli.Decompressor()
            found = bytes(brotlied.process(body, output_buffer_limit=most))
            return found[:most] if len(found) >= most or brotlied.is_finished() else None
        case "zstd":
            with zstandard.ZstdDecompressor(max_window_size=1 << 23).stream_reader(body) as reader:
                return reader.read(most)
    return None


def _inflate(body: bytes, window: int, most: int) -> bytes | None:
    """The members of a gzip file one after the other, the first few: each costs a copy of what is left."""
    found = b""
    for _ in range(_MAX_MEMBERS):
        stream = zlib.decompressobj(window)
        found += stream.decompress(body, most - len(found))
        if len(found) >= most:
            break
        if not stream.eof:
            return None
        body = stream.unused_data
        if not body:
            break
    return found
