"""Disk space for bodies that are under way.

What all connections may bring at once (64 of 20 MB) is too much to keep free for nothing, so space is accounted for as
bodies grow. Each byte that is spilled is written once more when it is archived, and its spill file goes only after
that. So a body may grow only while the reserve would still be free after all that is spilled has been archived, too: a
commit always finds room, and gives the space of the spill files back. A body that finds none gives its own back, so
that others can end.
"""

import errno
import os
from threading import Lock


class SpillSpace:
    """Shared by all bodies of a transport. Documents may be closed on another thread."""

    def __init__(self, directory: str, reserve_bytes: int) -> None:
        self._directory = directory
        self._reserve_bytes = reserve_bytes
        self._lock = Lock()
        self.held_bytes = 0
        """In spill files that are not given back yet."""

    def take(self, count: int) -> None:
        """Account for bytes that are about to be spilled; OSError, as if the disk were full, when there is no room."""
        found = os.statvfs(self._directory)
        free = found.f_bavail * found.f_frsize
        with self._lock:
            needed = self._reserve_bytes + self.held_bytes + 2 * count
            if free < needed:
                raise OSError(
                    errno.ENOSPC,
                    f"{free / 1e6:,.0f} MB free of the {needed / 1e6:,.0f} MB that the reserve and the pages under way "
                    "need",
                )
            self.held_bytes += count

    def give_back(self, count: int) -> None:
        """A spill file is gone."""
        with self._lock:
            self.held_bytes -= count
