"""What an import was begun with, as it is kept in its directory: a JSON list of files with their lengths, and at its
end a check sum of what stands before that."""

import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

NAME: Final = "import.json"
_CRC: Final = b',{"crc32":"%08x"}]'
_CRC_BYTES: Final = len(_CRC % 0)


class ImportedFile(msgspec.Struct, frozen=True):
    file: str
    bytes: int


def encode(files: Sequence[ImportedFile]) -> bytes:
    listed = _bare(files)[:-1]
    return listed + _CRC % zlib.crc32(listed)


def is_of(files: Sequence[ImportedFile], data: bytes) -> bool:
    """Whether `data` lists these files. Earlier versions wrote no check sum, and might leave an empty file when they
    were killed."""
    return data in (b"", _bare(files), encode(files))


def list_problem(data: bytes) -> str:
    """What is wrong with a list; empty when nothing is. A list of an earlier version has no check sum."""
    listed = data[:-_CRC_BYTES]
    if data == listed + _CRC % zlib.crc32(listed):
        return ""
    try:
        files = msgspec.json.decode(data, type=list[ImportedFile])
    except (msgspec.DecodeError, UnicodeDecodeError):
        return "" if not data else "is damaged"
    return "" if data == _bare(files) else "is damaged"


def read_problem(directory: Path) -> str:
    """`list_problem` of the list in a directory; empty where there is none."""
    path = directory / NAME
    return list_problem(path.read_bytes()) if path.exists() else ""


def _bare(files: Sequence[ImportedFile]) -> bytes:
    return msgspec.json.encode(list(files))
