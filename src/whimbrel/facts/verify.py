"""Look for damage in the tails: every frame is read, and held against its check sums.

Importing this module imports pyarrow: import it inside functions.
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from whimbrel.facts.frame import FrameBroken, heads, read_payload
from whimbrel.facts.payload import read_payload_tables


class TailDamage(NamedTuple):
    file: str
    offset: int
    what: str


def tail_damage(directory: Path, lengths: Mapping[str, int]) -> Iterator[TailDamage]:
    """The first damage of each tail, up to its committed length. FileNotFoundError when one is gone: a running crawl
    may have gone on."""
    for name, length in lengths.items():
        fd = os.open(directory / name, os.O_RDONLY | os.O_CLOEXEC)
        try:
            for head in heads(fd, length):
                read_payload_tables(read_payload(fd, head), head.offset)
        except FrameBroken as error:
            yield TailDamage(name, error.offset, error.what)
        finally:
            os.close(fd)
