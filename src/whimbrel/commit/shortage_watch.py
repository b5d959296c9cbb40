"""Watches for the end of a shortage that visits have met."""

import os
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from whimbrel.commit.free_space import check_free_space
from whimbrel.shortage import Shortage, shortage_of

_FIRST_PAUSE_S: Final = 1.0
_LONGEST_PAUSE_S: Final = 60.0
_CALM_S: Final = 10.0
"""A shortage that comes back sooner than this after its end is the same one: each pause is twice as long as the last,
so that servers are not asked again and again for what cannot be kept."""
_FILES: Final = 16
"""File descriptors that must be free: for a few connections and their bodies."""


class ShortageWatch:
    """One shortage at a time: the last that was met."""

    def __init__(self, directory: Path, reserve_bytes: int) -> None:
        self._directory = directory
        self._reserve_bytes = reserve_bytes
        self.shortage: Shortage | None = None
        self._pause_s = _FIRST_PAUSE_S
        self._look_s = 0.0
        """Not before this time."""
        self._over_s = float("-inf")
        """When the last one ended."""

    def begin(self, shortage: Shortage, now_s: float) -> None:
        """Visits that were under way together meet the same shortage: only the first one begins it."""
        if self.shortage is None:
            again = now_s - self._over_s < _CALM_S
            self._pause_s = min(2 * self._pause_s, _LONGEST_PAUSE_S) if again else _FIRST_PAUSE_S
            self._look_s = now_s + self._pause_s
        self.shortage = shortage

    def look(self, now_s: float) -> bool:
        """Whether something has changed: the shortage is over, or has another cause."""
        shortage = self.shortage
        if shortage is None or now_s < self._look_s:
            return False
        self._look_s = now_s + _FIRST_PAUSE_S
        try:
            self._probe(shortage)
        except OSError as error:
            self.shortage = shortage_of(error, shortage.wanted_bytes)
            return self.shortage != shortage
        self.shortage = None
        self._over_s = now_s
        return True

    def _probe(self, shortage: Shortage) -> None:
        """OSError while there is too little. Whatever was lacking: without files nothing goes on."""
        check_free_space(self._directory, self._reserve_bytes + shortage.wanted_bytes)
        with ExitStack() as opened, tempfile.TemporaryFile(dir=self._directory, buffering=0) as file:
            file.write(b"\0")
            for _ in range(_FILES):
                opened.callback(os.close, os.dup(file.fileno()))
