"""Content codings, decoded under limits (RFC 9110 §8.4).

A few kilobytes can decode to gigabytes, so every decoder is asked for a bounded piece at a time and stopped at the
limit. What was decoded before trouble is kept and read: half a page has half of the links.
"""

from collections.abc import Callable, Iterator
from typing import Final, cast

import brotli
import msgspec
import zstandard
from isal import igzip_lib

_MOST: Final = 4
"""Codings in a row. Nobody means more; each would multiply the work."""
_FLOOR: Final = 4 * 1024 * 1024
"""A small body may always decode to this much, whatever the ratio: an empty table compresses a thousandfold."""
_PIECE: Final = 256 * 1024
_ZSTD_SLICE: Final = 512
"""A zstd block of four bytes may decode to 128 KiB and its decoder takes no limit: this much input makes 16 MiB."""
_ZSTD_WINDOW: Final = 8 * 1024 * 1024
"""RFC 9659 §3: a decoder must not be made to keep more."""
# The types of isal call its error classes instances.
_ERRORS: Final = cast(
    "tuple[type[Exception], ...]", (igzip_lib.error, brotli.error, zstandard.ZstdError, ValueError, EOFError)
)


class Decoded(msgspec.Struct, frozen=True, gc=False):
    body: bytes
    trouble: str = ""
    """`decoded-cut` at the limit, `undecodable` when the coding is broken or ends too early; else empty."""
    known: bool = True
    """False when a coding is unknown: the body is then as it was received."""


def decode(body: bytes, content_encoding: str, max_bytes: int, max_ratio: int = 1_000) -> Decoded:
    """Undo what a Content-Encoding header says. Memory is bounded by a small multiple of `max_bytes`."""
    codings = [name for part in content_encoding.lower().split(",") if (name := part.strip()) not in ("", "identity")]
    if not codings or not body:
        return Decoded(body)
    if len(codings) > _MOST:
        return Decoded(body, "undecodable")
    decoders = [_DECODERS.get(coding) for coding in codings]
    if None in decoders:
        return Decoded(body, known=False)
    limit = min(max_bytes, max(_FLOOR, len(body) * max_ratio))
    decoded, trouble = body, ""
    for decoder in reversed(decoders):
        if decoder is not None:
            decoded, found = _run(decoder, decoded, limit)
            trouble = trouble or found
    return Decoded(decoded, trouble) if decoded or not trouble else Decoded(body, trouble)


def gunzip(body: bytes, max_bytes: int, max_ratio: int) -> Decoded:
    """A gzip file, as sitemaps come in."""
    return decode(body, "gzip", max_bytes, max_ratio)


_Pieces = Iterator[bytes]


def _run(decoder: Callable[[bytes], _Pieces], body: bytes, limit: int) -> tuple[bytes, str]:
    pieces, size, trouble = [], 0, ""
    try:
        for piece in decoder(body):
            pieces.append(piece)
            size += len(piece)
            if size > limit:
                trouble = "decoded-cut"
                break
    except _ERRORS:
        trouble = "undecodable"
    whole = pieces[0] if len(pieces) == 1 else b"".join(pieces)
    return (whole[:limit] if size > limit else whole), trouble


def _gzip(body: bytes) -> _Pieces:
    """One member or several (RFC 1952 §2.2). What follows the last and is no member is padding, and ignored."""
    if not body.startswith(b"\x1f\x8b"):
        raise ValueError("not gzip")
    while body.startswith(b"\x1f\x8b"):
        member = igzip_lib.IgzipDecompressor(flag=igzip_lib.DECOMP_GZIP)
        yield from _member(member, body)
        body = member.unused_data


def _member(member: igzip_lib.IgzipDecompressor, body: bytes) -> _Pieces:
    # An ordinary page comes out in one call. With a limit of many megabytes that call would cost twice as much.
    piece = member.decompress(body, _PIECE)
    yield piece
    while not member.eof:
        if member.needs_input or not piece:
            raise EOFError("it ends too early")
        piece = member.decompress(b"", _PIECE)
        yield piece


def _deflate(body: bytes) -> _Pieces:
    """With the zlib header that RFC 9110 §8.4.1.2 asks for, or without, as some servers send it."""
    has_header = len(body) > 1 and body[0] & 0x0F == 8 and (body[0] << 8 | body[1]) % 31 == 0
    flag = igzip_lib.DECOMP_ZLIB if has_header else igzip_lib.DECOMP_DEFLATE
    return _member(igzip_lib.IgzipDecompressor(flag=flag), body)


def _br(body: bytes) -> _Pieces:
    decompressor = brotli.Decompressor()
    piece = decompressor.process(body, output_buffer_limit=_PIECE)
    yield piece
    while not decompressor.is_finished():
        piece = decompressor.process(b"", output_buffer_limit=_PIECE)
        if not piece and decompressor.can_accept_more_data():
            raise EOFError("it ends too early")
        yield piece


def _zstd(body: bytes) -> _Pieces:
    """One frame or several (RFC 8878 §3)."""
    at = 0
    while at < len(body):
        frame = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW).decompressobj()
        while not frame.eof:
            if at >= len(body):
                raise EOFError("it ends too early")
            yield frame.decompress(body[at : at + _ZSTD_SLICE])
            at += _ZSTD_SLICE
        at = min(at, len(body)) - len(frame.unused_data)


_DECODERS: Final = {"gzip": _gzip, "x-gzip": _gzip, "deflate": _deflate, "br": _br, "zstd": _zstd}
