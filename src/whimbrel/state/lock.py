"""The lock of a crawl: RocksDB's own, on a file in the folder of the database."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from whimbrel.state.api import StateLocked


def state_locked(directory: Path) -> StateLocked:
    """Another process has the lock of the crawl in a directory."""
    return StateLocked(f"{directory} is being crawled by another process; wait for it, or stop it first")


@contextmanager
def locked(path: Path, directory: Path) -> Iterator[None]:
    """Hold the own lock of a crawl's database: nobody else can open it. Not by opening it, because RocksDB deletes
    files by their paths when it closes, and these have another meaning after a rename."""
    with (path / "LOCK").open("ab") as file:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise state_locked(directory) from error
        yield
