"""Durations and sizes as people write them."""

import re
from typing import Final

from whimbrel.error import UsageError

_SECONDS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_DECIMAL: Final = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}
_BINARY: Final = {"kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40}
_BYTES: Final = {**_DECIMAL, **_BINARY}


class UnitError(UsageError, ValueError):
    """A value that is no duration, or no size; the message shows one that is."""


def duration_s(text: str) -> float:
    """`0.5s`, `10m`, `2h`, `1d`, `250ms`; a number alone is seconds."""
    match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*(ms|s|m|h|d)?\s*", text)
    if match is None:
        raise UnitError(f"{text!r} is not a duration; write for example 0.5s, 10m or 2h")
    return float(match[1]) * _SECONDS[match[2] or "s"]


def size_bytes(text: str) -> int:
    """`20MB`, `1.5GiB`, `5MB/s`; a number alone is bytes."""
    match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([kmgt]?i?b?)(?:/s)?\s*", text, re.IGNORECASE)
    unit = "" if match is None else match[2].lower()
    if match is None or (unit and unit not in _BYTES and unit + "b" not in _BYTES):
        raise UnitError(f"{text!r} is not a size; write for example 20MB or 1.5GiB")
    return int(float(match[1]) * _BYTES.get(unit, _BYTES.get(unit + "b", 1)))
