"""What a process that crawls asks of its libraries, before anything large is loaded.

- glibc, left alone, gives each thread a heap of its own, lets the size from which it maps memory grow with every large
  block that is freed, and so keeps hundreds of megabytes that nobody uses: 780 MB where 400 are in use, after a few
  minutes of a crawl of a million hosts.
- mimalloc, which Arrow brings along, does the reverse: it gives memory back after 10 ms, only to ask for it again with
  the next group of pages. The kernel has to clear it each time: 5 % of all CPU time.
- OpenBLAS, which NumPy brings along and Arrow imports, starts a thread for each core that spins for a while: 0.1 s of
  CPU time, and nobody here multiplies matrices.
- pyarrow imports pandas where that is installed (`facts.arrow_import`).
- Python looks for cycles after every 700 new objects. A page makes that many, and no cycles.
"""

import ctypes
import gc
import os
import sys
from typing import Final

from whimbrel.facts.arrow_import import be_lean

_ARENA_MAX: Final = -8
_MMAP_THRESHOLD: Final = -3
_TRIM_THRESHOLD: Final = -1
"""Numbers of glibc's malloc.h."""
_SETTINGS: Final = ((_ARENA_MAX, 2), (_MMAP_THRESHOLD, 1 << 20), (_TRIM_THRESHOLD, 16 << 20))
_ENVIRONMENT: Final = {"MIMALLOC_PURGE_DELAY": "2000", "OPENBLAS_NUM_THREADS": "1"}
"""Unless the user has other wishes. The first is in milliseconds."""
_OBJECTS: Final = 50_000


def tune_memory() -> None:
    """To be called before Arrow is imported: libraries read their settings once."""
    for name, value in _ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    be_lean()
    gc.set_threshold(_OBJECTS, 20, 50)
    if sys.platform != "linux":
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        for option, number in _SETTINGS:
            mallopt(option, number)
