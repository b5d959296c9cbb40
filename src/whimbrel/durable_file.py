"""The few file operations that durability rests on, in one place.

The archive, the facts and the committer change files only through a `Disk`. It is as thin as it looks; it exists so
that a test can record what was done in which order, and replay it as a power failure would have left it.

Three rules of POSIX that callers must keep in mind: bytes are durable after `fdatasync` of the file and not before; a
new, renamed or removed name is durable after `fsync_directory` of its directory; neither implies the other.
"""

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

Data = bytes | bytearray | memoryview

_IOV_MAX = 1024  # Linux: more buffers in one call are EINVAL


class DiskFile:
    """A file that is written at its end. The end is counted here, so that it is known even after a failed write.

    It is file-like enough (`write`, `tell`, `flush`, `close`, `closed`) to be a sink of other libraries.
    """

    def __init__(self, path: Path, flags: int, mode: int = 0o644) -> None:
        self.path = path
        self._fd = os.open(path, flags | os.O_RDWR | os.O_CLOEXEC, mode)
        self._end = os.fstat(self._fd).st_size
        self._closed = False

    @property
    def closed(self) -> bool:
        return self._closed

    def tell(self) -> int:
        """The length of the file: where the next write begins."""
        return self._end

    def write(self, data: Data) -> int:
        """Append all of it. After an OSError some of it may have been written; `tell` says how far."""
        self.writev([data])
        return memoryview(data).nbytes

    def writev(self, parts: Sequence[Data]) -> None:
        """Append all parts in order, with as few system calls as there can be. Errors as for `write`."""
        left = [view for view in (memoryview(part).cast("B") for part in parts) if view.nbytes]
        while left:
            done = self._pwritev(left[:_IOV_MAX], self._end)
            self._end += done
            left = _without_first(left, done)

    def _pwritev(self, parts: Sequence[memoryview], offset: int) -> int:
        return os.pwritev(self._fd, parts, offset)

    def truncate(self, length: int) -> None:
        """Cut the file, or fill it with zeros, to this length. Not durable until `fdatasync`."""
        os.ftruncate(self._fd, length)
        self._end = length

    def fdatasync(self) -> None:
        """All bytes and the length are on disk when this returns. After an OSError nothing is known about them."""
        os.fdatasync(self._fd)

    def flush(self) -> None:
        """Nothing to do: there is no buffer here."""

    def close(self) -> None:
        """Closing syncs nothing. A second call does nothing."""
        if not self._closed:
            self._closed = True
            os.close(self._fd)


def _without_first(parts: list[memoryview], count: int) -> list[memoryview]:
    for at, part in enumerate(parts):
        if count < part.nbytes:
            return [part[count:], *parts[at + 1 :]]
        count -= part.nbytes
    return []


class Disk:
    """Every method is one system call, or two, and raises its OSError."""

    def open_append(self, path: Path) -> DiskFile:
        """Open a file that exists (else FileNotFoundError) to write at its end."""
        return DiskFile(path, 0)

    def create_exclusive(self, path: Path) -> DiskFile:
        """Make a new, empty file; FileExistsError if there is one. The name is durable after `fsync_directory`."""
        return DiskFile(path, os.O_CREAT | os.O_EXCL)

    def create_private(self, path: Path) -> DiskFile:
        """The same, for a file that its owner alone may read and write, from its first moment and under any umask. A
        file system that knows no owners (FAT) cannot do that, and is no reason to fail."""
        file = DiskFile(path, os.O_CREAT | os.O_EXCL, 0o600)
        with suppress(PermissionError):
            path.chmod(0o600)
        return file

    def replace(self, source: Path, target: Path) -> None:
        """Rename, replacing what is there, atomically. Sync the source's bytes before, the directory afterwards."""
        source.replace(target)

    def unlink(self, path: Path) -> None:
        path.unlink()

    def make_directory(self, path: Path) -> None:
        """One directory; the parent must be there, and it is no error if the directory is."""
        path.mkdir(exist_ok=True)

    def fsync_directory(self, path: Path) -> None:
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)

    def listdir(self, path: Path) -> list[str]:
        """Names in a directory, sorted, so that what follows is the same on every machine."""
        return sorted(entry.name for entry in path.iterdir())

    def length(self, path: Path) -> int:
        return path.stat().st_size
