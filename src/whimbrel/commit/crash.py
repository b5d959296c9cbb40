"""Points at which a test can have the process killed, as by a power switch."""

import os
import signal
from typing import Final

POINTS: Final = (
    "begun",
    "archive-appended",
    "facts-appended",
    "archive-synced",
    "facts-synced",
    "state-written",
    "published",
    "rotated",
    "segment-ended",
    "facts-finished",
    "indexed",
    "recovery-cut",
    "recovery-published",
)
"""In the order in which a commit reaches them; then those at the end of a crawl, and those when one is resumed."""
UPGRADE_POINTS: Final = ("upgrade-copied", "upgrade-synced", "upgrade-renamed", "upgrade-replaced")
"""When a crawl of an earlier version is resumed."""


class Crash:
    """Armed with `POINT` or `POINT:N`, dies by SIGKILL when the point is reached for the Nth time; unarmed, never."""

    def __init__(self, armed: str = "") -> None:
        self._point, _, times = armed.partition(":")
        points = (*POINTS, *UPGRADE_POINTS)
        if self._point and self._point not in points:
            raise ValueError(f"there is no crash point {self._point!r}; there are: {', '.join(points)}")
        self._left = int(times or 1)

    def reach(self, point: str) -> None:
        if point == self._point:
            self._left -= 1
            if self._left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
