"""A folder for targets that read files."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from tests.frontier.rig import quick_directory
from tests.fuzz.api import Read


def in_folder(read: Callable[[Path, bytes], None]) -> Callable[[], AbstractContextManager[Read]]:
    @contextmanager
    def opened() -> Iterator[Read]:
        with quick_directory() as folder:
            yield lambda data: read(folder, data)

    return opened
