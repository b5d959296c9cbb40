"""A thread that cannot begin for want of memory.

`Thread.start` waits until the new thread says that it runs. A thread that has no memory for its first step never says
so, and the process would wait for ever (CPython 3.11 to 3.14). Python tells a hook of it; there the process ends
instead. What was committed is safe, and `resume` goes on from there.
"""

import os
import sys
from threading import Thread
from typing import Any, Final

_MESSAGE: Final = (
    b"whimbrel: this machine has no memory left, a thread could not begin; mend that and try again, a crawl that had "
    b"begun with `whimbrel resume DIR`\n"
)


def end_with_threads_that_cannot_begin() -> None:
    """For a process that is all ours: a program that uses us may not be ended from here."""
    sys.unraisablehook = _told


def _told(unraisable: Any) -> None:
    begins = getattr(unraisable.object, "__func__", None) is Thread._bootstrap  # type: ignore[attr-defined] # noqa: SLF001
    if begins and unraisable.exc_type is MemoryError:
        os.write(2, _MESSAGE)
        os._exit(1)
    sys.__unraisablehook__(unraisable)
