"""What the process and its files take of the machine."""

import os
import resource
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Final

_FOLDERS: Final = {"archive": "archive", "tables": "facts", "state": "state"}
_LIMITS: Final = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
"""Of a container, in either version of cgroups."""


def memory_bytes() -> int:
    """Resident memory of this process; where the system does not tell, the most it has had."""
    with suppress(OSError, ValueError, IndexError):
        return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * resource.getpagesize()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


@cache
def memory_limit_bytes() -> int:
    """What the process may take: the machine's memory, or the container's."""
    found = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for path in _LIMITS:
        with suppress(OSError, ValueError):
            found = min(found, int(Path(path).read_text(encoding="ascii")))
    return found


def cpu_s() -> float:
    """User and system, of this process and of children that have ended."""
    return sum(
        used.ru_utime + used.ru_stime
        for used in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )


def stored_bytes(directory: Path) -> dict[str, int]:
    """What lies on disk: the archive, the tables, and the state with its frontier and known URLs."""
    return {name: _folder_bytes(directory / folder) for name, folder in _FOLDERS.items()}


def _folder_bytes(folder: Path) -> int:
    total = 0
    with suppress(OSError), os.scandir(folder) as found:
        for entry in found:
            with suppress(OSError):  # Files come and go.
                total += entry.stat().st_size
    return total
