"""The transport on libcurl."""

import asyncio
import errno
import tempfile
from functools import partial
from typing import Any

import pycurl

from whimbrel.clock import Clock
from whimbrel.fetch.api import CannotFetch, Done, Exchange, Traffic
from whimbrel.fetch.credential import Credentials
from whimbrel.fetch.curl_loop import CurlLoop
from whimbrel.fetch.curl_option import CurlConfig, check_files
from whimbrel.fetch.handle import Handle
from whimbrel.fetch.network import Networks
from whimbrel.fetch.patience import Patience
from whimbrel.fetch.request_header import header_lines
from whimbrel.fetch.spill_space import SpillSpace
from whimbrel.fetch.trouble import Trouble
from whimbrel.fetch.watchdog import Watchdog
from whimbrel.flow import Metric, Needs, Provider
from whimbrel.shortage import Shortage
from whimbrel.visit import Request

__all__ = ["CurlConfig", "CurlTransport"]


class CurlTransport(Provider):
    """Meets `api.Transport`, on the thread of the event loop that opened it.

    Each visit is pinned to its address, and the socket's peer is judged once more before it is connected to.
    Connections are kept for the next visit to the same site and address.
    """

    Config = CurlConfig
    live = frozenset({"connections", "kept", "headers", "credential_origins", "authorizations"})
    metrics = (
        Metric("transport_exchanges", "gauge", "Requests under way, robots.txt included.", lambda own: own.under_way),
    )
    clock = Needs(Clock)

    def __init__(self, config: CurlConfig | None = None) -> None:
        super().__init__(config)
        self._networks = Networks(self.config.allow_networks, self.config.allow_hosts)
        self._credentials = _credentials(self.config)
        self._patience = Patience(self.config)
        self._space = SpillSpace(self.config.spill_directory or tempfile.gettempdir(), self.config.spill_reserve_bytes)
        self._watchdog = Watchdog()
        self._busy: dict[Any, Handle] = {}
        """Handles whose exchange is under way, by their pycurl object."""
        self._free: list[Handle] = []
        self._curl_loop: CurlLoop | None = None
        self._sweeping: asyncio.TimerHandle | None = None

    async def open(self) -> None:
        self._loop = asyncio.get_running_loop()
        check_files(self.config)
        # A first handle now: a configuration that libcurl refuses is an error here and not in the first visit.
        self._free.append(self._new_handle())
        try:
            self._curl_loop = CurlLoop(self._loop, self.config.kept, self._ended, self._unwatched, self._watchdog)
        except pycurl.error as error:
            raise CannotFetch("libcurl", error) from error
        self._watchdog.start()

    def reconfigure(self, config: CurlConfig) -> None:
        """Exchanges under way end as they began. ValueError for headers that cannot be sent: nothing has changed
        then."""
        self._credentials = _credentials(config)
        super().reconfigure(config)
        for handle in (*self._free, *self._busy.values()):
            handle.use(self._credentials)
        if self._curl_loop is not None:
            self._curl_loop.keep(config.kept)

    async def close(self) -> None:
        """Exchanges under way are abandoned."""
        curl_loop, self._curl_loop = self._curl_loop, None
        if curl_loop is None:
            return
        if self._sweeping is not None:
            self._sweeping.cancel()
        for handle in tuple(self._busy.values()):
            curl_loop.remove(handle.curl)
            self._land(handle, handle.abandoned())
        # Connections belong to the multi handle and must go first: they may still call into a handle.
        curl_loop.close()
        self._watchdog.close()
        for handle in self._free:
            handle.close()
        self._free.clear()

    @property
    def under_way(self) -> int:
        """Exchanges that have begun and not ended."""
        return len(self._busy)

    def begin(
        self,
        request: Request,
        address: str,
        done: Done,
        *,
        fresh: bool = False,
        http1: bool = False,
        traffic: Traffic | None = None,
    ) -> None:
        self._begin(request, address, done, traffic, fresh=fresh, http1=http1)

    async def fetch(
        self, request: Request, address: str, traffic: Traffic | None = None, *, http1: bool = False
    ) -> Exchange:
        """Whoever no longer waits ends the exchange."""
        answer: asyncio.Future[Exchange] = self._loop.create_future()
        done = partial(_answer, answer)
        handle = self._begin(request, address, done, traffic, http1=http1)
        try:
            return await answer
        except asyncio.CancelledError:
            # It may have landed meanwhile, and its handle may be on another errand.
            if handle is not None and handle.done is done and handle.curl in self._busy:
                self._stop(handle, handle.abandoned())
            raise

    def _begin(
        self,
        request: Request,
        address: str,
        done: Done,
        traffic: Traffic | None,
        *,
        fresh: bool = False,
        http1: bool = False,
    ) -> Handle | None:
        if self._curl_loop is None:
            raise RuntimeError("the transport is not open")
        if not self._networks.allows_for(request.url, address):
            refused = Exchange(None, Trouble.PRIVATE_ADDRESS, False, address, b"", self.clock.wall_s(), 0.0)  # noqa: FBT003
            self._loop.call_soon(done, refused)
            return None
        if len(self._busy) >= self.config.connections:
            raise RuntimeError(f"more than {self.config.connections} exchanges at once; raise `connections`")
        try:
            handle = self._free.pop() if self._free else self._new_handle()
            handle.aim(request, address, done, traffic, fresh=fresh, http1=http1)
            self._curl_loop.add(handle.curl)
        except (pycurl.error, MemoryError) as error:
            self._loop.call_soon(done, self._not_begun(address, error))
            return None
        self._busy[handle.curl] = handle
        if self._sweeping is None:
            self._sweeping = self._loop.call_later(self._patience.interval_s, self._sweep)
        return handle

    def _new_handle(self) -> Handle:
        return Handle(self.config, self._networks, self.clock, self._space, self._watchdog, self._credentials)

    def _not_begun(self, address: str, error: Exception) -> Exchange:
        """libcurl has no memory. The handle is not used again: nobody knows what it was told."""
        lack = Shortage("memory", f"libcurl: {error}")
        return Exchange(None, Trouble.ABANDONED, False, address, b"", self.clock.wall_s(), 0.0, lack)  # noqa: FBT003

    def _ended(self, curl: Any, code: int, message: str) -> None:
        handle = self._busy.get(curl)
        if handle is not None and self._curl_loop is not None:
            self._curl_loop.remove(curl)
            self._land(handle, handle.exchange(code, message))

    def _unwatched(self, error: OSError) -> None:
        """ENOSPC is about the number of watches here, not about a disk."""
        lack = Shortage("memory" if error.errno == errno.ENOMEM else "open-files", str(error.strerror))
        for handle in tuple(self._busy.values()):
            self._stop(handle, handle.abandoned(lack))

    def _stop(self, handle: Handle, exchange: Exchange) -> None:
        """End an exchange from our side, and its connection: something may still come on it. Over HTTP/2 libcurl would
        use it again, also when the server does not answer there any more."""
        if self._curl_loop is not None:
            handle.curl.setopt(pycurl.FORBID_REUSE, 1)
            self._curl_loop.remove(handle.curl)
            handle.curl.setopt(pycurl.FORBID_REUSE, 0)
            self._land(handle, exchange)

    def _land(self, handle: Handle, exchange: Exchange) -> None:
        del self._busy[handle.curl]
        self._free.append(handle)
        try:
            handle.done(exchange)
        except Exception as error:  # noqa: BLE001 - a bug of one who waits must not lose the exchanges of others
            self._loop.call_exception_handler({"message": "what waited for an exchange failed", "exception": error})

    def _sweep(self) -> None:
        now_s = self.clock.now_s()
        for handle in tuple(self._busy.values()):
            trouble = self._patience.verdict(handle, now_s)
            if trouble and handle.curl in self._busy:
                self._stop(handle, handle.exchange(0, "", trouble))
        self._sweeping = self._loop.call_later(self._patience.interval_s, self._sweep) if self._busy else None


def _credentials(config: CurlConfig) -> Credentials:
    header_lines(config.user_agent, config.headers)  # Or one that cannot be sent would show with the first request.
    return Credentials(config.headers, config.credential_origins, config.authorizations)


def _answer(answer: "asyncio.Future[Exchange]", exchange: Exchange) -> None:
    if not answer.done():
        answer.set_result(exchange)
