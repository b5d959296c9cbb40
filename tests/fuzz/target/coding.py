"""Content codings."""

import random
import zlib
from typing import Final

import brotli
import zstandard

from tests.fuzz.api import Target, plain
from whimbrel.fetch.coding import decode

_CODINGS: Final = ("gzip", "deflate", "br", "zstd", "x-gzip", "gzip, br", "br, zstd", "zstd, gzip", "gzip, gzip, gzip")
_MOST_BYTES: Final = 8_000_000
_RATIO: Final = 250
_FLOOR: Final = 4 * 1024 * 1024


def read(data: bytes) -> None:
    """The first byte chooses the coding. What another decoder reads whole must be the same here."""
    coding, body = _CODINGS[data[0] % len(_CODINGS)] if data else "", data[1:]
    found = decode(body, coding, _MOST_BYTES, _RATIO)
    limit = min(_MOST_BYTES, max(_FLOOR, len(body) * _RATIO))
    assert len(found.body) <= max(limit, len(body))
    assert found.known
    if not found.trouble and body:
        expected = _reference(coding, body)
        assert expected is None or expected == found.body


def _reference(coding: str, body: bytes) -> bytes | None:
    """What a plain decoder makes of a body; None where it does not know."""
    if coding in ("gzip", "x-gzip"):
        return _inflated(body, 31)
    if coding == "deflate":
        return _inflated(body, 15 if _has_zlib_head(body) else -15)
    if coding == "br":
        return bytes(brotli.decompress(body))
    return None


def _has_zlib_head(body: bytes) -> bool:
    return len(body) > 1 and body[0] & 15 == 8 and (body[0] << 8 | body[1]) % 31 == 0


def _inflated(body: bytes, wbits: int) -> bytes | None:
    parts: list[bytes] = []
    while True:
        inflate = zlib.decompressobj(wbits)
        try:
            parts.append(inflate.decompress(body))
        except zlib.error as error:
            if "header" in str(error):  # ISA-L reads past odd flags of a member's header, which change no content.
                return None
            raise
        assert inflate.eof
        body = inflate.unused_data
        if wbits != 31 or not body.startswith(b"\x1f\x8b"):
            return b"".join(parts)


def made_up(dice: random.Random) -> bytes:
    """A valid stream, which is changed afterwards now and then."""
    text = dice.choice((b"", b"a", b"word " * 500, bytes(dice.randrange(10_000_000)), dice.randbytes(5_000)))
    at = dice.randrange(4)
    if at == 0:
        packed = b"".join(
            _packed(text[: dice.randrange(len(text) + 1)], 31, dice) for _ in range(dice.choice((1, 1, 2)))
        )
    elif at == 1:
        packed = _packed(text, dice.choice((15, -15)), dice)
    elif at == 2:
        packed = bytes(brotli.compress(text, quality=dice.choice((0, 1, 4)), lgwin=dice.choice((10, 16, 24))))
    else:
        packed = zstandard.ZstdCompressor(level=dice.choice((1, 3)), write_checksum=dice.random() < 0.5).compress(text)
    return bytes((at,)) + packed


def _packed(text: bytes, wbits: int, dice: random.Random) -> bytes:
    deflate = zlib.compressobj(dice.choice((0, 1, 9)), zlib.DEFLATED, wbits, strategy=dice.randrange(5))
    middle = len(text) // 2
    return (
        deflate.compress(text[:middle])
        + deflate.flush(zlib.Z_SYNC_FLUSH)
        + deflate.compress(text[middle:])
        + deflate.flush()
    )


TARGET: Final = Target(
    "coding",
    plain(read),
    (
        b"\x1f\x8b\x08",
        b"\x1f\x8b\x08\x1f",
        b"\x28\xb5\x2f\xfd",
        b"\x50\x2a\x4d\x18",
        b"\x78\x9c",
        b"\x00\x00\xff\xff",
        b"\x03",
    ),
    make_up=made_up,
)
