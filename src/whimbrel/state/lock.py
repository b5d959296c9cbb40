"""The lock of a crawl: RocksDB's own, on a file in the folder of the database."""

import fcntl
import os
import struct
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from whimbrel.state.api import StateLocked

_FILE: Final = "LOCK"
_FLOCK: Final = "qqihh" if sys.platform == "darwin" else "hhqqi"
"""C's `struct flock`: on Linux type, whence, start, length and process; on macOS type and whence are last."""
_TYPE, _PROCESS = (3, 2) if sys.platform == "darwin" else (0, 4)


def state_locked(directory: Path, pid: int = 0) -> StateLocked:
    """A process has the lock of the crawl in a directory; 0 where it is not known which."""
    which = "another process" if pid <= 0 else f"another process (pid {pid})"
    which = "this process itself" if pid == os.getpid() else which
    return StateLocked(
        f"{which} works on {directory}; wait for it to end, or stop a crawl there with "
        f"`whimbrel control {directory} stop`"
    )


def check_unlocked(directory: Path, folder: Path) -> None:
    """StateLocked when a crawl works on the database in `folder`, in this process or in another one. The lock is looked
    at and never taken, so that nothing happens to that crawl."""
    path = folder / _FILE
    try:
        held_here = _is_open_here(path)
    except (FileNotFoundError, NotADirectoryError):
        return
    pid = os.getpid() if held_here else _holder(path)
    if pid:
        raise state_locked(directory, pid)


def _is_open_here(path: Path) -> bool:
    """A process does not see its own locks, and it loses them when it closes *any* descriptor of the file: this one
    must be found before the file is opened."""
    wanted = path.stat()
    for one in Path("/dev/fd").iterdir():
        with suppress(OSError):  # The descriptor of the listing itself.
            found = os.fstat(int(one.name))
            if (found.st_dev, found.st_ino) == (wanted.st_dev, wanted.st_ino):
                return True
    return False


def _holder(path: Path) -> int:
    """The process that has the lock of a file; 0 when none has."""
    fields = [0] * 5
    fields[_TYPE] = fcntl.F_WRLCK
    with path.open("rb") as file:
        found = struct.unpack(_FLOCK, fcntl.fcntl(file, fcntl.F_GETLK, struct.pack(_FLOCK, *fields)))
    return 0 if found[_TYPE] == fcntl.F_UNLCK else int(found[_PROCESS]) or -1


@contextmanager
def locked(path: Path, directory: Path) -> Iterator[None]:
    """Hold the own lock of a crawl's database: nobody else can open it. Not by opening it, because RocksDB deletes
    files by their paths when it closes, and these have another meaning after a rename."""
    with (path / _FILE).open("ab") as file:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise state_locked(directory) from error
        yield
