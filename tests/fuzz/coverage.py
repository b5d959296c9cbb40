"""Which lines of the package an input reaches. To follow it costs ten times the reading, so only some inputs are."""

import sys
from types import FrameType
from typing import Any, Final

from tests.fuzz.api import Read

_FOLLOWED: Final = ("/whimbrel/", "/warcio/")


class Coverage:
    """Owns the lines that were reached so far."""

    def __init__(self) -> None:
        self._lines: set[tuple[str, int]] = set()
        self.is_new = False
        """The last input came to a line where none was before."""

    def follow(self, read: Read, data: bytes) -> None:
        self.is_new = False
        sys.settrace(self._call)
        try:
            read(data)
        finally:
            sys.settrace(None)

    def _call(self, frame: FrameType, _event: str, _argument: Any) -> Any:
        name = frame.f_code.co_filename
        return self._line if any(part in name for part in _FOLLOWED) else None

    def _line(self, frame: FrameType, _event: str, _argument: Any) -> Any:
        found = (frame.f_code.co_filename, frame.f_lineno)
        if found not in self._lines:
            self._lines.add(found)
            self.is_new = True
        return self._line
