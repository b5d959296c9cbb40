"""Targets that do what none should: `python -m tests.fuzz.wrong NAME FOLDER` reads two inputs with one of them."""

import ctypes
import sys
import time
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final

from tests.fuzz import campaign
from tests.fuzz.api import Read, Target, plain


def raises(_: bytes) -> None:
    raise KeyError("x")


def hangs(_: bytes) -> None:
    while True:
        pass


def is_slow(_: bytes) -> None:
    end_s = time.process_time() + 0.4
    while time.process_time() < end_s:
        pass


def takes_memory(_: bytes) -> None:
    bytearray(60_000_000)


def crashes(_: bytes) -> None:
    ctypes.string_at(0)


def cannot_open() -> AbstractContextManager[Read]:
    raise OSError("no folder")


_READS: Final = {read.__name__: plain(read) for read in (raises, hangs, is_slow, takes_memory, crashes)}


def main() -> None:
    opened = (_READS | {"cannot_open": cannot_open})[sys.argv[1]]
    target = Target("wrong", opened, most_s=0.2, most_mb=50)
    sys.stdout.write(f"{campaign.replay(target, Path(sys.argv[2]), [b'one', b'three'])}\n")


if __name__ == "__main__":
    main()
