"""The names of the files that facts are kept in."""

import re
from typing import Final, NamedTuple

_TAIL: Final = re.compile(r"facts/tail-(\d+)")
_PARQUET: Final = re.compile(r"facts/([a-z][a-z0-9_]*)-(\d+)(?:\.\d+)?\.parquet")
_TEMPORARY: Final = ".tmp"


class ParquetName(NamedTuple):
    table: str
    number: int
    """Of the tail whose rows the file holds."""


def tail_name(number: int) -> str:
    return f"facts/tail-{number}"


def tail_number(name: str) -> int | None:
    """None when it is not the name of a tail."""
    found = _TAIL.fullmatch(name)
    return None if found is None else int(found[1])


def parquet_name(name: str) -> ParquetName | None:
    """None when it is not the name of a table's file."""
    found = _PARQUET.fullmatch(name)
    return None if found is None else ParquetName(found[1], int(found[2]))


def is_ours(name: str) -> bool:
    """Whether a file belongs to the facts: a tail, a table's file, or one that is not complete yet."""
    return tail_number(name) is not None or parquet_name(name.removesuffix(_TEMPORARY)) is not None
