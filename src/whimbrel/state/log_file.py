"""The logs of RocksDB (write-ahead logs and the MANIFEST), checked record by record.

RocksDB takes a record that passes the end of a log for one that a crash has torn off, and goes on without it and all
that follow. That is right after a crash. But one byte that changed in a record's length or type looks the same, and
then whole spaces of the state are gone without a word. The check sum, which covers type and data, tells one from the
other: it fits the data that is there, although the length does not.

Blocks of 32 KB hold records of 7 bytes (masked CRC-32C, length, type) and data; less than 7 bytes at a block's end stay
empty (`db/log_format.h`). A byte takes 0.12 µs: a MANIFEST has kilobytes, and logs are empty after a proper end.
"""

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

_BLOCK_BYTES: Final = 32_768
_HEAD: Final = struct.Struct("<IHB")
_LAST_TYPE: Final = 11
_RECYCLED: Final = range(5, 9)
"""Types of records in logs that are used again. Ours are not."""
_CURRENT: Final = "CURRENT"


class LogDamage(msgspec.Struct, frozen=True):
    file: str
    offset: int
    what: str


def log_damage(folder: Path, *, all_logs: bool = True) -> Iterator[LogDamage]:
    """The first damage of each log of the database in `folder`; `all_logs`: also of write-ahead logs, not only of the
    MANIFEST. A file that is gone meanwhile is passed over: RocksDB names what it misses."""
    paths = sorted(folder.glob("*.log")) if all_logs else []
    for path in [*_manifest(folder), *paths]:
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            continue
        found = _first_damage(data)
        if found is not None:
            yield LogDamage(path.name, *found)


def _manifest(folder: Path) -> list[Path]:
    try:
        name = (folder / _CURRENT).read_bytes().decode("utf-8", "replace").strip()
    except (FileNotFoundError, NotADirectoryError):
        return []
    return [folder / name] if name.startswith("MANIFEST-") and "/" not in name and "\0" not in name else []


def _first_damage(data: bytes) -> tuple[int, str] | None:
    offset = 0
    while offset < len(data):
        left = _BLOCK_BYTES - offset % _BLOCK_BYTES
        if left < _HEAD.size:
            offset += left
            continue
        if len(data) - offset < _HEAD.size:
            return None  # Torn off by a crash.
        masked, length, kind = _HEAD.unpack_from(data, offset)
        begin = offset + _HEAD.size
        whole = memoryview(data)[begin - 1 : offset + left]  # The type is part of the sum.
        if _HEAD.size + length > left or begin + length > len(data):
            return (offset, "a record has a wrong length") if _fits_somewhere(whole, masked) else _torn(data, offset)
        if kind == 0 and length == 0:
            return None if not any(data[offset:]) else (offset, "zeros in the place of a record")
        if kind in _RECYCLED or kind > _LAST_TYPE or _crc(whole[: 1 + length]) != _unmasked(masked):
            return offset, "the check sum of a record is wrong"
        offset = begin + length
    return None


def _torn(data: bytes, offset: int) -> tuple[int, str] | None:
    """Only the last block can end in half a record."""
    at_end = offset // _BLOCK_BYTES == (len(data) - 1) // _BLOCK_BYTES
    return None if at_end else (offset, "a record passes the end of its block")


def _unmasked(masked: int) -> int:
    rotated = (masked - 0xA282EAD8) & 0xFFFFFFFF
    return (rotated >> 17 | rotated << 15) & 0xFFFFFFFF


def _byte_step(value: int) -> int:
    for _ in range(8):
        value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
    return value


_STEPS: Final = tuple(map(_byte_step, range(256)))


def _crc(data: memoryview) -> int:
    """CRC-32C."""
    steps, crc = _STEPS, 0xFFFFFFFF
    for byte in data:
        crc = steps[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


def _fits_somewhere(data: memoryview, masked: int) -> bool:
    """Whether the sum is that of the data with another length."""
    steps, crc, wanted = _STEPS, 0xFFFFFFFF, _unmasked(masked) ^ 0xFFFFFFFF
    for byte in data:
        crc = steps[(crc ^ byte) & 0xFF] ^ crc >> 8
        if crc == wanted:
            return True
    return False
