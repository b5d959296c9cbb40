"""What a process that crawls asks of the C library.

A crawl allocates and frees tens of megabytes a second on several threads. Left alone, glibc gives each thread a heap of
its own, lets the size from which it maps memory grow with every large block that is freed, and so keeps hundreds of
megabytes that nobody uses: 780 MB where 400 are in use, after a few minutes of a crawl of a million hosts.
"""

import ctypes
import sys
from typing import Final

_ARENA_MAX: Final = -8
_MMAP_THRESHOLD: Final = -3
_TRIM_THRESHOLD: Final = -1
"""Numbers of glibc's malloc.h."""
_SETTINGS: Final = ((_ARENA_MAX, 2), (_MMAP_THRESHOLD, 1 << 20), (_TRIM_THRESHOLD, 16 << 20))


def keep_memory_low() -> None:
    """Elsewhere than on Linux with glibc it does nothing."""
    if sys.platform != "linux":
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        for option, value in _SETTINGS:
            mallopt(option, value)
