"""A worker's side: one request after the other, until the pool is gone or the worker has grown."""

import gc
import os
import resource
import socket
import sys
from contextlib import suppress
from typing import Final, NoReturn

from whimbrel.worker.api import LastReply, MakeServe, Serve
from whimbrel.worker.wire import HEAD, LAST_REPLY, READY, REPLY, frame

_PAGE_BYTES: Final = resource.getpagesize()
_BUFFER_BYTES: Final = 1 << 16
_SMALL_BYTES: Final = 1 << 16
"""Up to this size a copy is cheaper than a second system call."""


def run_worker(make_serve: MakeServe, connection: socket.socket, memory_bytes: int) -> NoReturn:
    """In a process that was just forked. It may take so many bytes beside those it began with."""
    try:
        gc.enable()
        gc.freeze()
        nothing = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(nothing, number)
        _limit_memory(memory_bytes)
        _serve_all(make_serve(), connection, memory_bytes)
    except BaseException:  # noqa: BLE001, S110 - the pool sees the end of the connection
        pass
    finally:
        sys.stdout = sys.stderr = None
        os._exit(0)


def _serve_all(serve: Serve, connection: socket.socket, memory_bytes: int) -> None:
    """A worker that has grown to half of its limit leaves, before a request has to suffer from what others left. If
    the program was that large itself, it leaves when it has grown by another quarter."""
    own, resident = os.getpid(), _ResidentMemory()
    most_bytes = max(memory_bytes // 2, resident.bytes() + memory_bytes // 4)
    reader = connection.makefile("rb", _BUFFER_BYTES)
    connection.sendall(frame(READY, 0))
    while len(head := reader.read(HEAD.size)) == HEAD.size:
        _, number, length = HEAD.unpack(head)
        reply = serve(reader.read(length))
        if os.getpid() != own:
            return  # A child that the request has forked: there is one reply, and it is not this process's.
        leaves = isinstance(reply, LastReply) or resident.bytes() > most_bytes
        _send(connection, LAST_REPLY if leaves else REPLY, number, reply)
        if leaves:
            return


def _send(connection: socket.socket, kind: int, number: int, body: bytes) -> None:
    if len(body) <= _SMALL_BYTES:
        connection.sendall(frame(kind, number, body))
    else:
        connection.sendall(HEAD.pack(kind, number, len(body)))
        connection.sendall(body)


def _limit_memory(memory_bytes: int) -> None:
    with suppress(ValueError, OSError):
        most = _status_bytes("VmData") + memory_bytes
        resource.setrlimit(resource.RLIMIT_DATA, (most, most))


def _status_bytes(name: str) -> int:
    with open("/proc/self/status", encoding="ascii") as file:  # noqa: PTH123
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith(name))


class _ResidentMemory:
    """The memory of this process, without files; what it shares with its parent since the fork counts. Asked after
    every request, so the file stays open."""

    def __init__(self) -> None:
        self._file = os.open("/proc/self/statm", os.O_RDONLY | os.O_CLOEXEC)

    def bytes(self) -> int:
        _, resident, shared, _ = os.pread(self._file, 200, 0).split(b" ", 3)
        return (int(resident) - int(shared)) * _PAGE_BYTES
