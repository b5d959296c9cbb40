"""What must be true of the files before the facts go back to a commit.

Everything is looked at before anything is changed: facts that are refused are left as they were found.
"""

import os
from pathlib import Path
from typing import Final

from whimbrel.facts.api import FactsDamaged
from whimbrel.facts.frame import FrameBroken, heads, latest_number

_PARQUET_MAGIC: Final = b"PAR1"


def check_tail(path: Path, name: str, length: int, number: int) -> None:
    """A listed tail: as long as it should be, whole frames up to there, and beyond it at most the next commit."""
    fd = _open(path, name)
    try:
        size = os.fstat(fd).st_size
        if size < length:
            raise FactsDamaged(f"{name} has {size:,} bytes, commit {number} lists {length:,}")
        last = 0
        for head in heads(fd, length):
            if not last <= head.number <= number:
                raise FactsDamaged(
                    f"{name} holds commit {head.number} at byte {head.offset:,}, after {last} of {number}"
                )
            last = head.number
        check_surplus(name, latest_number(fd, length), number)
    except FrameBroken as error:
        raise FactsDamaged(f"{name} is damaged {error}") from error
    finally:
        os.close(fd)


def check_unlisted_tail(path: Path, name: str, number: int) -> None:
    """One that is going to be deleted: replaced by Parquet, or begun by a commit that was never completed."""
    fd = _open(path, name)
    try:
        check_surplus(name, latest_number(fd, 0), number)
    finally:
        os.close(fd)


def check_parquet(path: Path, name: str) -> None:
    """A listed Parquet file: there, and with both its ends."""
    fd = _open(path, name)
    try:
        size = os.fstat(fd).st_size
        ends = os.pread(fd, 4, 0), os.pread(fd, 4, max(size - 4, 0))
    finally:
        os.close(fd)
    if size < 12 or ends != (_PARQUET_MAGIC, _PARQUET_MAGIC):
        raise FactsDamaged(f"{name} is not a whole Parquet file ({size:,} bytes)")


def check_surplus(name: str, latest: int, number: int) -> None:
    """Only the commit after the last may have left something behind. More: the state is older than the facts."""
    if latest > number + 1:
        raise FactsDamaged(
            f"{name} holds commit {latest}, but the state knows only {number}: the state is older than the facts. "
            "Nothing was changed; restore the state that belongs to them"
        )


def _open(path: Path, name: str) -> int:
    try:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError as error:
        raise FactsDamaged(f"{name} is missing") from error
