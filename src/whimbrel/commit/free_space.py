"""A full disk is met before it is full: RocksDB and others need some room to tidy up."""

import errno
import os
from pathlib import Path


def check_free_space(directory: Path, reserve_bytes: int) -> None:
    """OSError, as if the disk were full, when less than the reserve is free: the crawl pauses until there is room."""
    found = os.statvfs(directory)
    free = found.f_bavail * found.f_frsize
    if free < reserve_bytes:
        raise OSError(errno.ENOSPC, f"{free / 1e6:,.0f} MB free of the {reserve_bytes / 1e6:,.0f} MB kept in reserve")
