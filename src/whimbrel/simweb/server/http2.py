"""HTTP/2 on one connection: many requests at once, each on a stream of its own.

A reply that fits the windows is written in the callback that read the request. What has to wait, for a window, for the
socket, for latency, bandwidth or a script, runs in a task of its stream. The connection owns these tasks; they end with
their stream or with the connection. Frames leave as soon as they are made, and answers wait while the socket is full.
Nor do we read then, since pings and settings make us write: a client that does not read costs little memory.

A script is raw HTTP/1 and has no literal meaning here: `translation.py` says what it becomes. One of nothing but Reset
resets the whole connection, as in HTTP/1.

A host's `http10` means nothing here: who must speak HTTP/1.0 must not offer HTTP/2 in the handshake.
"""

import asyncio
import time
from dataclasses import dataclass, field
from typing import Any, Final, cast

from h2 import events
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.exceptions import H2Error
from hpack import Encoder

from whimbrel.simweb.answer import Reply, Reset, Script, SimRequest, Wait
from whimbrel.simweb.html import http_date
from whimbrel.simweb.server.listen import reset
from whimbrel.simweb.server.log import LoggedExchange
from whimbrel.simweb.server.service import ServedAnswer, Service
from whimbrel.simweb.server.translation import Fields, to_fields, translate
from whimbrel.simweb.web import host_of

_HIGH_WATER: Final = 256 * 1024
_PACE_S: Final = 0.05


class Http2(asyncio.Protocol):
    def __init__(self, service: Service, opened_s: float = 0.0) -> None:
        self._service = service
        self._opened_s = opened_s or service.pulse.since_s
        self._number = next(service.connection_numbers)
        # Fields are written by us, and some exhibits need wrong ones: nothing is to be corrected or refused.
        config = H2Configuration(client_side=False, validate_outbound_headers=False, normalize_outbound_headers=False)
        self._h2 = H2Connection(config)
        self._h2.encoder = _PlainEncoder()
        self._requests = 0
        # Fields of requests whose body is still coming. h2 bounds the number of streams and the size of their fields.
        self._unfinished: dict[int, Fields] = {}
        self._streams: dict[int, _Stream] = {}
        self._paused = False
        self.idle_since = time.monotonic()
        self.idle_s = 15.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._transport.set_write_buffer_limits(high=_HIGH_WATER, low=0)
        peer, here = transport.get_extra_info("peername"), transport.get_extra_info("sockname")
        self._client, self._server = f"{peer[0]}:{peer[1]}", f"{here[0]}:{here[1]}"
        self._service.connections.add(self)
        self._h2.initiate_connection()
        self._flush()

    def connection_lost(self, _error: Exception | None) -> None:
        self._service.connections.discard(self)
        self._drop(*self._streams)

    def pause_writing(self) -> None:
        self._paused = True
        self._transport.pause_reading()

    def resume_writing(self) -> None:
        self._paused = False
        if not self._transport.is_closing():
            self._transport.resume_reading()
        self._wake()

    def data_received(self, data: bytes) -> None:
        if self._transport.is_closing():
            return
        try:
            received = self._h2.receive_data(data)
            self._flush()
            for event in received:
                self._handle(event)
        except H2Error:
            # The client does not speak HTTP/2 as it should; h2 has prepared the GOAWAY that says so.
            self._drop(*self._streams)
            self._flush()
            self._transport.close()

    @property
    def busy(self) -> bool:
        return bool(self._streams)

    def close(self) -> None:
        """Say that no more requests are taken (GOAWAY), and close."""
        self._drop(*self._streams)
        if not self._transport.is_closing():
            self._h2.close_connection()
            self._flush()
            self._transport.close()

    def _handle(self, event: events.Event) -> None:
        match event:
            case events.RequestReceived(stream_id=int(number), headers=list(fields)):
                self._unfinished[number] = fields
            case events.StreamEnded(stream_id=int(number)) if number in self._unfinished:
                self._begin(number, self._unfinished.pop(number))
            case events.DataReceived(stream_id=int(number), flow_controlled_length=int(length)) if length:
                self._h2.acknowledge_received_data(length, number)
                self._flush()
            case events.WindowUpdated(stream_id=int(number)):
                self._wake(number)
            case events.RemoteSettingsChanged():
                self._wake()
            case events.StreamReset(stream_id=int(number)):
                self._unfinished.pop(number, None)
                self._drop(number)
            case events.ConnectionTerminated():
                self.close()  # The client leaves; h2 sends no answers once it has read a GOAWAY.

    def _begin(self, number: int, fields: Fields) -> None:
        """The whole request has been read: answer it."""
        self._requests += 1
        request = self._request(fields)
        served = self._service.serve(request)
        self.idle_s = served.idle_s
        stream = self._streams[number] = _Stream(number, request, served)
        try:
            sent = self._answer_at_once(stream)
        except H2Error:
            sent = True  # The client has reset the stream in the same breath as it asked.
        if sent and not self._paused:
            self._finish(number)
        else:
            stream.task = asyncio.create_task(self._run(stream, sent=sent))

    def _request(self, fields: Fields) -> SimRequest:
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in fields}
        pseudo = {name: headers.pop(name, "") for name in (":method", ":scheme", ":authority", ":path")}
        host = host_of(pseudo[":authority"] or headers.get("host", ""))
        target = pseudo[":path"]
        attempt = self._service.attempt(host, target)
        address, reused = self._server.rpartition(":")[0], self._requests > 1
        since_s = self._service.pulse.since_s if reused else self._opened_s
        times = (time.time(), address, self._service.clock.now_s(), since_s)
        return SimRequest(pseudo[":method"], host, target, "https", headers, reused, attempt, *times)

    def _answer_at_once(self, stream: "_Stream") -> bool:
        """Send a reply that need not wait for anything; False when it must."""
        reply = stream.served.answer
        if not isinstance(reply, Reply) or stream.served.latency_s or stream.served.bandwidth or self._paused:
            return False
        fields, body = self._encode(stream.request, reply)
        if len(body) > self._h2.local_flow_control_window(stream.number):
            return False
        self._send_head(stream, fields, ends=not body)
        self._send_data(stream, body, ends=True)
        return True

    def _encode(self, request: SimRequest, reply: Reply) -> tuple[Fields, bytes]:
        date = http_date(int(self._service.clock.now_s()))
        headers = [(":status", str(reply.status)), ("server", "simweb"), ("date", date), *reply.headers]
        bodyless = reply.status in (204, 304)
        if not bodyless:
            headers.append(("content-length", str(len(reply.body))))
        return to_fields(headers), b"" if bodyless or request.method == "HEAD" else reply.body

    async def _run(self, stream: "_Stream", *, sent: bool) -> None:
        """What takes time of an answer: all of it, or only that the socket takes it."""
        try:
            if not sent:
                await self._answer(stream)
            await self._room(stream, needed=0)
        except H2Error:
            pass  # The stream has ended under our hands, which is an end like any other.
        finally:
            self._finish(stream.number)

    async def _answer(self, stream: "_Stream") -> None:
        answer, bandwidth = stream.served.answer, stream.served.bandwidth
        await asyncio.sleep(stream.served.latency_s)
        if isinstance(answer, Script):
            await self._play(stream, answer)
            return
        fields, body = self._encode(stream.request, answer)
        await self._room(stream, needed=0)
        self._send_head(stream, fields, ends=not body)
        piece = max(1, int(bandwidth * _PACE_S)) if bandwidth else len(body) + 1
        for at in range(0, len(body), piece):
            ends = at + piece >= len(body)
            await self._stream_data(stream, body[at : at + piece], ends=ends)
            await asyncio.sleep(0 if ends else _PACE_S)

    async def _play(self, stream: "_Stream", script: Script) -> None:
        if all(isinstance(step, Reset) for step in script.steps):
            reset(self._transport)
            return
        for action in translate(script, bodyless=stream.request.method == "HEAD"):
            match action:
                case Wait(seconds):
                    await asyncio.sleep(seconds)
                case bytes(data):
                    await self._stream_data(stream, data, ends=False)
                case ErrorCodes.NO_ERROR:
                    self._h2.end_stream(stream.number)
                case ErrorCodes():
                    self._h2.reset_stream(stream.number, action)
                case fields:
                    await self._room(stream, needed=0)
                    self._send_head(stream, fields, ends=False)
        stream.sent += self._flush()

    async def _stream_data(self, stream: "_Stream", data: bytes, *, ends: bool) -> None:
        at = 0
        while at < len(data):
            room = min(await self._room(stream), self._h2.max_outbound_frame_size)
            piece = data[at : at + room]
            at += len(piece)
            self._send_data(stream, piece, ends=ends and at == len(data))
            await asyncio.sleep(0)  # The other streams want their turn.

    async def _room(self, stream: "_Stream", needed: int = 1) -> int:
        """Wait until the socket takes more and the client's windows do; returns how much they take."""
        while True:
            room = self._h2.local_flow_control_window(stream.number) if needed else 0
            if room >= needed and not self._paused:
                return room
            stream.go.clear()
            await stream.go.wait()

    def _send_head(self, stream: "_Stream", fields: Fields, *, ends: bool) -> None:
        self._h2.send_headers(stream.number, fields, end_stream=ends)
        if ends:
            stream.ended_s = time.time()
        stream.sent += self._flush()

    def _send_data(self, stream: "_Stream", data: bytes, *, ends: bool) -> None:
        """The windows must have room for it."""
        largest = self._h2.max_outbound_frame_size
        if ends:
            stream.ended_s = time.time()
        for at in range(0, len(data), largest):
            self._h2.send_data(stream.number, data[at : at + largest], ends and at + largest >= len(data))
        stream.sent += self._flush()

    def _flush(self) -> int:
        """Hand all frames to the socket; returns their bytes. Called after each action, so they are of one stream."""
        data = self._h2.data_to_send()
        if data and not self._transport.is_closing():
            self._transport.write(data)
        return len(data)

    def _wake(self, number: int = 0) -> None:
        """Let a stream look again whether it may send; 0 is the connection, that is, all of them."""
        for stream in self._streams.values():
            if number in (0, stream.number):
                stream.go.set()

    def _finish(self, number: int) -> None:
        """The exchange is over, well or not. Further calls do nothing."""
        stream = self._streams.pop(number, None)
        if stream is None:
            return
        request, served, ended = stream.request, stream.served, stream.ended_s or time.time()
        self._service.log.add(
            LoggedExchange(
                *(request.received_s, ended, self._number, self._client, self._server, "https", "HTTP/2"),
                *(request.method, request.host, request.target, served.answer.status, stream.sent, served.label),
                *(request.headers.get("user-agent", ""), request.since_s),
            )
        )
        self.idle_since = time.monotonic()

    def _drop(self, *numbers: int) -> None:
        for number in numbers:
            stream = self._streams.get(number)
            self._finish(number)
            if stream is not None and stream.task is not None:
                stream.task.cancel()


@dataclass(slots=True)
class _Stream:
    """A request that is being answered. `go` is set when a window grew or the socket takes more."""

    number: int
    request: SimRequest
    served: ServedAnswer
    sent: int = 0
    ended_s: float = 0.0
    """When its last frame went to the socket; the stream itself is over a turn of the loop later."""
    go: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[None] | None = None


class _PlainEncoder(Encoder):
    """Writes fields as they are. hpack's Huffman coding takes time with the square of the length: minutes for 2 MB."""

    def encode(self, headers: Any, huffman: bool = False) -> bytes:  # noqa: ARG002, FBT001, FBT002 - hpack's signature
        return super().encode(headers, huffman=False)
