"""Connections to the control interface, which anybody on the machine can make: each costs the crawl a descriptor."""

import asyncio
from typing import Any, Final

from uvicorn.protocols.http.h11_impl import H11Protocol

MOST_CONNECTIONS: Final = 64
FIRST_REQUEST_S: Final = 5.0
"""A connection that has not brought a request by then is closed."""


class ControlProtocol(H11Protocol):
    """HTTP/1.1 by uvicorn, with a bound: beyond it a connection is closed as soon as it is accepted."""

    def connection_made(self, transport: Any) -> None:
        if len(self.connections) >= MOST_CONNECTIONS:
            self.transport = transport
            transport.abort()
            return
        super().connection_made(transport)
        self._waiting: asyncio.TimerHandle = self.loop.call_later(FIRST_REQUEST_S, self._close_idle)

    def _close_idle(self) -> None:
        if getattr(self, "cycle", None) is None:  # uvicorn says that there is always one
            self.transport.abort()
