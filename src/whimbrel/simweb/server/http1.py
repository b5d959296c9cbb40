"""HTTP/1.0 and HTTP/1.1 on one connection.

The common case, a reply that fits the socket buffer, is one write in the callback that read the request: no task, no
queue. Latency, bandwidth and scripts run in a task; what the client pipelines meanwhile waits in the buffer.
"""

import asyncio
import time
from functools import lru_cache
from http import HTTPStatus
from typing import Final, cast

from whimbrel.simweb.answer import Close, Repeat, Reply, Reset, Script, Send, SimRequest, Step, Wait
from whimbrel.simweb.html import http_date
from whimbrel.simweb.server.listen import reset
from whimbrel.simweb.server.log import LoggedExchange
from whimbrel.simweb.server.service import ServedAnswer, Service
from whimbrel.simweb.web import host_of

_MAX_HEAD: Final = 64 * 1024
_MAX_REQUESTS: Final = 1_000
"""Requests on one connection before it is closed, as common servers do."""
_HIGH_WATER: Final = 1024 * 1024
_PACE_S: Final = 0.05


@lru_cache(maxsize=256)
def _head_start(version: str, status: int, second: int) -> str:
    """The lines that all answers of a status and a second share."""
    try:
        phrase = HTTPStatus(status).phrase
    except ValueError:
        phrase = "Status"
    return f"{version} {status} {phrase}\r\nServer: simweb\r\nDate: {http_date(second)}\r\n"


def one_line(value: str) -> str:
    """What a client put into a target may come back in a header; a line end there would begin another header."""
    return value.replace("\r", "").replace("\n", "")


class Http1(asyncio.Protocol):
    def __init__(self, service: Service, scheme: str, opened_s: float = 0.0) -> None:
        self._service = service
        self._opened_s = opened_s or service.pulse.since_s
        self._scheme = scheme
        self._number = next(service.connection_numbers)
        self._buffer = b""
        self._requests = 0
        self._task: asyncio.Task[None] | None = None
        self._writable = asyncio.Event()
        self._writable.set()
        self.idle_since = time.monotonic()
        self.idle_s = 15.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._transport.set_write_buffer_limits(high=_HIGH_WATER, low=0)
        peer, here = transport.get_extra_info("peername"), transport.get_extra_info("sockname")
        self._service.connections.add(self)
        self._client, self._server = f"{peer[0]}:{peer[1]}", f"{here[0]}:{here[1]}"

    def connection_lost(self, _error: Exception | None) -> None:
        self._service.connections.discard(self)
        self._writable.set()
        if self._task is not None:
            self._task.cancel()

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    def data_received(self, data: bytes) -> None:
        self._buffer = self._buffer + data if self._buffer else data
        if self._task is None:
            self._read_requests()
        elif len(self._buffer) > _MAX_HEAD:
            self._transport.abort()

    @property
    def busy(self) -> bool:
        return self._task is not None

    def close(self) -> None:
        self._transport.close()

    def _read_requests(self) -> None:
        while self._buffer and self._task is None and not self._transport.is_closing():
            end = self._buffer.find(b"\r\n\r\n")
            if end < 0:
                if not b"A" <= self._buffer[:1] <= b"Z":
                    self._refuse(400)  # No method begins like this; a TLS handshake does, and would wait for ever.
                elif len(self._buffer) > _MAX_HEAD:
                    self._refuse(431)
                return
            head, self._buffer = self._buffer[:end], self._buffer[end + 4 :]
            self._requests += 1
            request = self._parse(head)
            if request is None:
                self._refuse(400)
                return
            self._answer(request)

    def _parse(self, head: bytes) -> SimRequest | None:
        lines = head.decode("latin-1").split("\r\n")
        words = lines[0].split(" ")
        if len(words) != 3 or not words[2].startswith("HTTP/1."):
            return None
        headers = {}
        for line in lines[1:]:
            name, colon, value = line.partition(":")
            if not colon:
                return None
            headers[name.lower()] = value.strip()
        method, target, self._http = words
        self._has_body = headers.get("content-length", "0") != "0" or "transfer-encoding" in headers
        if self._has_body:
            # Nothing here reads bodies: what follows is not the next request, so the connection ends with the answer.
            self._buffer = b""
        authority = headers.get("host", "")
        if not authority and self._http != "HTTP/1.0":
            return None  # RFC 9112 §3.2
        if target.startswith("http://"):
            # Absolute form: the client takes us for a proxy.
            authority, slash, rest = target[7:].partition("/")
            target = slash + rest if slash else "/"
        host = host_of(authority)
        attempt = self._service.attempt(host, target)
        address = self._server.rpartition(":")[0]
        reused = self._requests > 1
        since_s = self._service.pulse.since_s if reused else self._opened_s
        times = (time.time(), address, self._service.clock.now_s(), since_s)
        return SimRequest(method, host, target, self._scheme, headers, reused, attempt, *times)

    def _refuse(self, status: int) -> None:
        head = _head_start("HTTP/1.1", status, int(self._service.clock.now_s()))
        self._transport.write(f"{head}Content-Length: 0\r\nConnection: close\r\n\r\n".encode())
        self._transport.close()

    def _answer(self, request: SimRequest) -> None:
        served = self._service.serve(request)
        self.idle_s = served.idle_s
        answer = served.answer
        if isinstance(answer, Reply) and not served.latency_s and not served.bandwidth:
            data, closes = self._encode(request, served, answer)
            # Taken before the write: the client may have read everything before the write returns.
            ended = time.time()
            self._transport.write(data)
            if self._writable.is_set():
                self._finish(request, served, answer.status, len(data), ended, closes=closes)
                return
            self._task = asyncio.create_task(
                self._finish_later(request, served, answer.status, len(data), closes=closes)
            )
            return
        self._task = asyncio.create_task(self._run(request, served))

    def _encode(self, request: SimRequest, served: ServedAnswer, reply: Reply) -> tuple[bytes, bool]:
        wants = request.headers.get("connection", "").lower()
        closes = (
            served.http10
            or wants == "close"
            or self._requests >= _MAX_REQUESTS
            or (self._http == "HTTP/1.0" and wants != "keep-alive")
            or self._has_body
        )
        second = int(self._service.clock.now_s())
        head = [_head_start("HTTP/1.0" if served.http10 else "HTTP/1.1", reply.status, second)]
        for name, value in reply.headers:
            head.append(f"{name}: {value if value.isprintable() else one_line(value)}\r\n")
        if reply.status not in (204, 304):
            head.append(f"Content-Length: {len(reply.body)}\r\n")
        head.append("Connection: close\r\n\r\n" if closes else "Connection: keep-alive\r\n\r\n")
        body = b"" if request.method == "HEAD" or reply.status in (204, 304) else reply.body
        return "".join(head).encode("latin-1", "replace") + body, closes

    def _finish(
        self, request: SimRequest, served: ServedAnswer, status: int, sent: int, ended: float, *, closes: bool
    ) -> None:
        self._service.log.add(
            LoggedExchange(
                *(request.received_s, ended, self._number, self._client, self._server, self._scheme, self._http),
                *(request.method, request.host, request.target, status, sent, served.label),
                *(request.headers.get("user-agent", ""), request.since_s),
            )
        )
        self.idle_since = time.monotonic()
        if closes:
            self._transport.close()

    async def _finish_later(
        self, request: SimRequest, served: ServedAnswer, status: int, sent: int, *, closes: bool
    ) -> None:
        try:
            await self._writable.wait()
        finally:
            self._finish(request, served, status, sent, time.time(), closes=closes)
            self._go_on()

    async def _run(self, request: SimRequest, served: ServedAnswer) -> None:
        """Answers that take time."""
        answer, sent, closes, ended = served.answer, 0, True, 0.0
        try:
            if served.latency_s:
                await asyncio.sleep(served.latency_s)
            if isinstance(answer, Script):
                closes = False
                for step in answer.steps:
                    sent += await self._step(step)
            else:
                data, closes = self._encode(request, served, answer)
                sent, wrote = await self._paced(data, served.bandwidth)
                ended = wrote if self._writable.is_set() else 0.0
            await self._writable.wait()
        finally:
            self._finish(request, served, answer.status, sent, ended or time.time(), closes=closes)
            self._go_on()

    def _go_on(self) -> None:
        self._task = None
        if self._buffer and not self._transport.is_closing():
            self._read_requests()

    async def _paced(self, data: bytes, bandwidth: int) -> tuple[int, float]:
        """Bytes sent, and the time just before the last write."""
        piece, wrote = max(1, int(bandwidth * _PACE_S)) if bandwidth else len(data), 0.0
        for at in range(0, len(data), piece):
            if self._transport.is_closing():
                return at, 0.0
            wrote = time.time()
            self._transport.write(data[at : at + piece])
            if at + piece < len(data):
                await asyncio.sleep(_PACE_S)
        return len(data), wrote

    async def _step(self, step: Step) -> int:
        """Carry out one step of a script; returns the bytes sent."""
        match step:
            case Send(data):
                self._transport.write(data)
                await self._writable.wait()
                return len(data)
            case Wait(seconds):
                await asyncio.sleep(seconds)
            case Repeat():
                return await self._repeat(step)
            case Close():
                self._transport.close()
            case Reset():
                reset(self._transport)
        return 0

    async def _repeat(self, step: Repeat) -> int:
        sent = 0
        while (step.times is None or sent < step.times * len(step.data)) and not self._transport.is_closing():
            self._transport.write(step.data)
            sent += len(step.data)
            await self._writable.wait()
            await asyncio.sleep(step.every_s)
        return sent
