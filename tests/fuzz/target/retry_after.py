"""Retry-After: its value, and the Date header in a line of its own."""

import math
from typing import Final

from tests.fuzz.api import Target, plain
from whimbrel.outcome.retry_after import MAX_RETRY_AFTER_S, retry_after_s

_NOW_S: Final = 1_800_000_000.0


def read(data: bytes) -> None:
    value, _, date = data.decode("latin-1").partition("\n")
    wait_s = retry_after_s(value, date or None, _NOW_S)
    assert math.isfinite(wait_s), wait_s
    assert 0.0 <= wait_s <= MAX_RETRY_AFTER_S, wait_s
    digits = value.strip(" \t")
    if digits.isascii() and digits.isdigit():
        digits = digits.lstrip("0") or "0"
        expected = MAX_RETRY_AFTER_S if len(digits) > 5 else min(int(digits), MAX_RETRY_AFTER_S)
        assert wait_s == expected, wait_s


TARGET: Final = Target(
    "retry-after",
    plain(read),
    (
        *(
            b"Sun, 06 Nov 1994 08:49:37 GMT",
            b"Sunday, 06-Nov-94 08:49:37 GMT",
            b"Sun Nov  6 08:49:37 1994",
            b"GMT",
            b"EST",
        ),
        *(
            b"+9999",
            b"-0000",
            b"+2400",
            b"99:99:99",
            b"00:00:60",
            b"9999",
            b"0000",
            b"10000",
            b"Feb",
            b"31",
            b"\n",
            b"am",
        ),
    ),
    most_bytes=100_000,
    quick_inputs=15_000,
)
