"""How much memory this process has taken."""

import os
import resource
from contextlib import suppress
from typing import Final, Self

_PAGE_BYTES: Final = resource.getpagesize()


class ResidentMemory:
    """Asked again and again, so the file stays open. It is about the process that opened it: a child opens its own.
    Where the system has no such file, the answer is the most that the process ever had."""

    def __init__(self) -> None:
        self._file = -1
        with suppress(OSError):
            self._file = os.open("/proc/self/statm", os.O_RDONLY | os.O_CLOEXEC)

    def bytes(self) -> int:
        """Files do not count; what is shared with the parent since a fork does."""
        if self._file < 0:
            return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        _, resident, shared, _ = os.pread(self._file, 200, 0).split(b" ", 3)
        return (int(resident) - int(shared)) * _PAGE_BYTES

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
