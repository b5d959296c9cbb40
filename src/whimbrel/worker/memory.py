"""How much memory a worker may take, and when one that has grown leaves."""

import os
import resource
from contextlib import suppress
from typing import Final

_PAGE_BYTES: Final = resource.getpagesize()


def limit_memory(memory_bytes: int) -> None:
    """So many bytes beside those that the process began with; an allocation beyond them fails."""
    with suppress(ValueError, OSError):
        most = _status_bytes("VmData") + memory_bytes
        resource.setrlimit(resource.RLIMIT_DATA, (most, most))


def _status_bytes(name: str) -> int:
    with open("/proc/self/status", encoding="ascii") as file:  # noqa: PTH123
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith(name))


class Growth:
    """A worker that has grown to half of its limit leaves, before a request has to suffer from what others left. If
    the program was that large itself, it leaves when it has grown by another quarter.

    Files do not count, what is shared with the parent since the fork does. Asked after every request, so the file
    stays open.
    """

    def __init__(self, memory_bytes: int) -> None:
        self._file = os.open("/proc/self/statm", os.O_RDONLY | os.O_CLOEXEC)
        self._most_bytes = max(memory_bytes // 2, self._bytes() + memory_bytes // 4)

    def is_too_much(self) -> bool:
        return self._bytes() > self._most_bytes

    def _bytes(self) -> int:
        _, resident, shared, _ = os.pread(self._file, 200, 0).split(b" ", 3)
        return (int(resident) - int(shared)) * _PAGE_BYTES
