"""Changed inputs."""

import re
from random import Random
from typing import Final

_NUMBER: Final = re.compile(rb"[0-9]+")
_NUMBERS: Final = (
    *(
        b"0",
        b"1",
        b"-1",
        b"9",
        b"255",
        b"256",
        b"65535",
        b"65536",
        b"2147483647",
        b"2147483648",
        b"4294967295",
        b"1e999",
    ),
    *(b"4294967296", b"9223372036854775807", b"9223372036854775808", b"18446744073709551616", b"9" * 400, b"9" * 5_000),
    *(b"0x10", b"1_0", b" 7", b"+7", b"07", b"1.5", b"nan", b"inf", "\u0663".encode(), "\u00b2".encode()),
)
_BYTES: Final = (
    b"\0",
    b"\xff",
    b"\x7f",
    b"\x80",
    b"\r",
    b"\n",
    b"\r\n",
    b" ",
    b"\t",
    b":",
    b";",
    b",",
    b"%",
    b"\x1f\x8b",
)
_LARGE: Final = 0.01
"""Of all inputs are grown towards the most that is allowed: what takes the square of its size shows there."""


def mutated(dice: Random, data: bytes, pool: list[bytes], words: tuple[bytes, ...], most_bytes: int) -> bytes:
    """An input with a few changes. `pool` are others, to take pieces from."""
    body = bytearray(data)
    for _ in range(dice.choice((1, 1, 1, 2, 3, 5, 10))):
        _change(dice, body, pool, words)
    if dice.random() < _LARGE:
        _grow(dice, body, most_bytes)
    return bytes(body[:most_bytes])


def _change(dice: Random, body: bytearray, pool: list[bytes], words: tuple[bytes, ...]) -> None:
    at = dice.randrange(len(body) + 1)
    kind = dice.randrange(10)
    if kind == 0:
        body[at : at + dice.choice((1, 2, 4, 30, 200))] = b""
    elif kind == 1:
        body[at:at] = dice.randbytes(dice.randrange(1, 20))
    elif kind == 2 and at < len(body):
        body[at] ^= 1 << dice.randrange(8)
    elif kind == 3:
        body[at : at + dice.randrange(3)] = dice.choice(_BYTES)
    elif kind in (4, 5) and words:
        body[at : at + dice.choice((0, 0, 1, 8))] = dice.choice(words)
    elif kind == 6:
        _set_number(dice, body)
    elif kind == 7:
        start = dice.randrange(len(body) + 1)
        body[at:at] = body[start : start + dice.choice((4, 30, 200, 2_000))] * dice.choice((1, 1, 1, 2, 20))
    elif kind == 8:
        _splice(dice, body, at, dice.choice(pool))
    else:
        _move_line(dice, body)


def _set_number(dice: Random, body: bytearray) -> None:
    found = [match.span() for match in _NUMBER.finditer(body[:20_000])]
    if found:
        begin, end = dice.choice(found)
        body[begin:end] = dice.choice(_NUMBERS)


def _splice(dice: Random, body: bytearray, at: int, other: bytes) -> None:
    start = dice.randrange(len(other) + 1)
    piece = other[start : start + dice.choice((8, 100, 1_000, 100_000))]
    if dice.random() < 0.5:
        body[at:at] = piece
    else:
        body[at:] = piece


def _move_line(dice: Random, body: bytearray) -> None:
    lines = body.split(b"\n")
    if len(lines) > 1:
        line = lines.pop(dice.randrange(len(lines)))
        for _ in range(dice.choice((0, 1, 2))):
            lines.insert(dice.randrange(len(lines) + 1), line)
        body[:] = b"\n".join(lines)


def _grow(dice: Random, body: bytearray, most_bytes: int) -> None:
    if not body or len(body) >= most_bytes:
        return
    at = dice.randrange(len(body))
    piece = bytes(body[at : at + dice.choice((1, 2, 5, 20, 100, 1_000))])
    body[at:at] = piece * ((dice.choice((10_000, 100_000, most_bytes)) - len(body)) // len(piece))
