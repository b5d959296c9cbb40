"""Content codings that are sent whatever the client accepts: correct, wrong, cut, and bombs."""

import gzip
import struct
import zlib
from functools import lru_cache, reduce
from typing import Final

from isal import isal_zlib

from whimbrel.simweb.answer import Answer, Reply, SimRequest
from whimbrel.simweb.exhibit.api import Exhibit, ExhibitPlace, Respond, always

FAMILY: Final = "coding"
BOMB_BYTES: Final = 256 * 1024 * 1024
"""What each bomb decodes to."""


def encode(coding: str, data: bytes) -> bytes:
    """`data` in a content coding; the same bytes every time."""
    match coding:
        case "gzip":
            return gzip.compress(data, 6, mtime=0)
        case "deflate":
            return zlib.compress(data, 6)
        case "deflate-raw":
            packer = zlib.compressobj(6, wbits=-15)
            return packer.compress(data) + packer.flush()
        case "br":
            import brotli

            return bytes(brotli.compress(data, quality=4))
        case "zstd":
            import zstandard

            return zstandard.ZstdCompressor(level=3).compress(data)
    raise ValueError(f"unknown content coding {coding!r}")


@lru_cache(maxsize=8)
def bomb(coding: str) -> bytes:
    """A few hundred kilobytes at most that decode to 256 MB of spaces; made when first asked for, and quickly: the web
    stands still meanwhile."""
    piece = b" " * (4 * 1024 * 1024)
    count = BOMB_BYTES // len(piece)
    if coding == "br":
        import brotli

        compressor = brotli.Compressor(quality=1)
        return b"".join([*(compressor.process(piece) for _ in range(count)), compressor.finish()])
    if coding == "zstd":
        import zstandard

        packer = zstandard.ZstdCompressor(level=1).compressobj()
        return b"".join([*(packer.compress(piece) for _ in range(count)), packer.flush()])
    # A piece that was flushed in full may stand there any number of times.
    deflater = zlib.compressobj(9, wbits=-15)
    stream = (deflater.compress(piece) + deflater.flush(zlib.Z_FULL_FLUSH)) * count + zlib.compressobj(
        wbits=-15
    ).flush()
    if coding == "gzip":
        sums = reduce(lambda checksum, _: isal_zlib.crc32(piece, checksum), range(count), 0), BOMB_BYTES
        return b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff" + stream + struct.pack("<II", *sums)
    checksum = reduce(lambda checksum, _: isal_zlib.adler32(piece, checksum), range(count), 1)
    return b"\x78\xda" + stream + struct.pack(">I", checksum)


def _reply(body: bytes, content_encoding: str) -> Reply:
    return Reply(200, (("Content-Type", "text/html; charset=utf-8"), ("Content-Encoding", content_encoding)), body)


def _coded(coding: str) -> Respond:
    label = coding.partition("-")[0]
    return lambda place, request: _reply(encode(coding, place.document().encode()), label)


def _bomb(coding: str) -> Respond:
    return lambda place, request: _reply(bomb(coding), coding)


def _plain_as_gzip(place: ExhibitPlace, request: SimRequest) -> Answer:
    return _reply(place.document().encode(), "gzip")


def _unknown(place: ExhibitPlace, request: SimRequest) -> Answer:
    return _reply(place.document().encode(), "snappy")


def _double(place: ExhibitPlace, request: SimRequest) -> Answer:
    return _reply(encode("gzip", encode("gzip", place.document().encode())), "gzip, gzip")


def _cut(place: ExhibitPlace, request: SimRequest) -> Answer:
    coded = encode("gzip", place.document().encode())
    return _reply(coded[: len(coded) // 2], "gzip")


EXHIBITS: Final = (
    *(
        Exhibit(f"coding-{coding}", FAMILY, f"a page in {coding}", _coded(coding), always("stored", "new"))
        for coding in ("gzip", "deflate", "deflate-raw", "br", "zstd")
    ),
    Exhibit("coding-double", FAMILY, "gzip in gzip", _double, always("stored", "new")),
    Exhibit("coding-unknown", FAMILY, "a coding that nobody knows", _unknown, always("stored", "new")),
    Exhibit("coding-wrong", FAMILY, "says gzip and is not", _plain_as_gzip, always("stored", "undecodable")),
    Exhibit("coding-cut", FAMILY, "gzip that ends half way", _cut, always("stored", "undecodable")),
    *(
        Exhibit(
            f"bomb-{coding}", FAMILY, f"{coding} that decodes to 256 MB", _bomb(coding), always("stored", "decoded-cut")
        )
        for coding in ("gzip", "deflate", "br", "zstd")
    ),
)
