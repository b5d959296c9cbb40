"""The limits on time that libcurl does not have: the first byte, silence in the body, and too slow a body."""

from typing import Final

from whimbrel.fetch.curl_option import CurlConfig
from whimbrel.fetch.handle import Handle
from whimbrel.fetch.trouble import Trouble

_INTERVAL_S: Final = 1.0
_STEPS: Final = 5
"""The shortest limit is looked at this many times while it lasts."""


class Patience:
    """Looks at every exchange under way once in an interval; so no callback of libcurl needs to read a clock."""

    def __init__(self, config: CurlConfig) -> None:
        self._config = config
        limits = (config.first_byte_timeout_s, config.idle_timeout_s, config.min_speed_window_s)
        self.interval_s = max(0.01, min(_INTERVAL_S, min(limits) / _STEPS))

    def verdict(self, handle: Handle, now_s: float) -> Trouble:
        """The trouble of an exchange that has been waited for long enough; `NONE` for the others."""
        config = self._config
        if not handle.asked_s:
            return Trouble.NONE  # Not connected yet: libcurl's own limit.
        if not handle.lines:
            return Trouble.TIMEOUT if now_s - handle.asked_s > config.first_byte_timeout_s else Trouble.NONE
        received = handle.body.size + len(handle.lines)
        if handle.mark is None:
            handle.mark = (now_s, received, now_s, received)
            return Trouble.NONE
        moved_s, last, window_s, at_window = handle.mark
        if received > last:
            moved_s = now_s
        elif now_s - moved_s > config.idle_timeout_s:
            return Trouble.TIMEOUT
        if now_s - window_s >= config.min_speed_window_s:
            if received - at_window >= config.min_bytes_per_s * (now_s - window_s):
                window_s, at_window = now_s, received
            elif now_s - moved_s < config.min_speed_window_s / 2:
                return Trouble.TOO_SLOW
            # Else it does not move at all: the window stays open until it does, or until it has been idle too long.
        handle.mark = (moved_s, received, window_s, at_window)
        return Trouble.NONE
