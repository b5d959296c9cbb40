"""How much memory a worker may take, and when one that has grown leaves."""

import resource
from contextlib import suppress

from whimbrel.memory import ResidentMemory


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
    the program was that large itself, it leaves when it has grown by another quarter."""

    def __init__(self, memory_bytes: int) -> None:
        self._memory = ResidentMemory()
        self._most_bytes = max(memory_bytes // 2, self._memory.bytes() + memory_bytes // 4)

    def is_too_much(self) -> bool:
        """Asked after every request."""
        return self._memory.bytes() > self._most_bytes
