"""How late the server itself is: one process that has much to do sees a request some time after it came."""

import asyncio
import time
from typing import Final

_BEAT_S: Final = 0.01


class Pulse:
    """What is read now came after `since_s`: the event loop has looked for everything that was there by then.

    A beat comes with a turn of the loop, and before the next it has looked at every socket. So what is read after the
    last beat had not come at the one before.
    """

    def __init__(self) -> None:
        self.since_s = self._last_s = time.time()

    async def beat(self) -> None:
        """For as long as the server runs."""
        while True:
            self.since_s, self._last_s = self._last_s, time.time()
            await asyncio.sleep(_BEAT_S)
