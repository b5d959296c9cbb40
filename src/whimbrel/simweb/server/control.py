"""A Unix socket to a running server: move the clock, read the counters.

The socket belongs to its owner (mode 0600), takes one JSON line and answers with one. Commands are a closed set.
"""

import asyncio
import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from whimbrel.error import UsageError
from whimbrel.simweb.server.service import Service

_TIMEOUT_S: Final = 10.0
_ADDRESS_BYTES: Final = 107
"""What the address of a Unix socket has room for; the standard says no more than that it is short."""


class WebControlError(UsageError):
    """The server refused, or nobody listens; the message says which."""


class ControlSocket:
    """The server's side."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(_TIMEOUT_S):
                line = await reader.readline()
            writer.write(json.dumps(self._carry_out(line)).encode() + b"\n")
            await writer.drain()
        except (TimeoutError, ConnectionError, ValueError):
            pass  # A client that does not finish its line gets no answer.
        finally:
            writer.close()

    def _carry_out(self, line: bytes) -> dict[str, object]:
        try:
            command = json.loads(line)
            match command:
                case {"do": "advance", "seconds": float() | int() as seconds}:
                    self._service.clock.advance(seconds)
                    return {"now_s": self._service.clock.now_s()}
                case {"do": "status"}:
                    self._service.log.flush()
                    return {"now_s": self._service.clock.now_s(), "served": dict(sorted(self._service.counts.items()))}
        except ValueError as error:
            return {"error": str(error)}
        return {"error": "the commands are status and advance"}


@contextmanager
def address(path: Path) -> Iterator[str]:
    """A name for the socket at `path` that fits into an address, also where directories lie deep. Valid within."""
    if len(os.fsencode(path)) <= _ADDRESS_BYTES:
        yield str(path)
        return
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{folder}/{path.name}"
    finally:
        os.close(folder)


def answers(path: Path) -> bool:
    """Whether a server listens at the socket."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
        try:
            with address(path) as name:
                sock.connect(name)
        except OSError:
            return False
        return True


def ask(path: Path, command: dict[str, object]) -> dict[str, object]:
    """The client's side: send one command and return the answer."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
        sock.settimeout(_TIMEOUT_S)
        try:
            with address(path) as name:
                sock.connect(name)
        except OSError as error:
            raise WebControlError(f"no simulated web answers at {path}: {error}") from error
        sock.sendall(json.dumps(command).encode() + b"\n")
        with sock.makefile("rb") as stream:
            answer: dict[str, object] = json.loads(stream.readline(1 << 20))
    if "error" in answer:
        raise WebControlError(str(answer["error"]))
    return answer
