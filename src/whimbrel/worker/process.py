"""A worker's side: one request after the other, until the pool is gone or the worker has grown."""

import gc
import os
import socket
import sys
from typing import Final, NoReturn

from whimbrel.worker.api import LastReply, MakeServe, Serve
from whimbrel.worker.memory import Growth, limit_memory
from whimbrel.worker.wire import HEAD, LAST_REPLY, READY, REPLY, frame

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
        limit_memory(memory_bytes)
        _serve_all(make_serve(), connection, memory_bytes)
    except BaseException:  # noqa: BLE001, S110 - the pool sees the end of the connection
        pass
    finally:
        sys.stdout = sys.stderr = None
        os._exit(0)


def _serve_all(serve: Serve, connection: socket.socket, memory_bytes: int) -> None:
    own, growth = os.getpid(), Growth(memory_bytes)
    reader = connection.makefile("rb", _BUFFER_BYTES)
    connection.sendall(frame(READY, 0))
    while len(head := reader.read(HEAD.size)) == HEAD.size:
        _, number, length = HEAD.unpack(head)
        reply = serve(reader.read(length))
        if os.getpid() != own:
            return  # A child that the request has forked: there is one reply, and it is not this process's.
        leaves = isinstance(reply, LastReply) or growth.is_too_much()
        _send(connection, LAST_REPLY if leaves else REPLY, number, reply)
        if leaves:
            return


def _send(connection: socket.socket, kind: int, number: int, body: bytes) -> None:
    if len(body) <= _SMALL_BYTES:
        connection.sendall(frame(kind, number, body))
    else:
        connection.sendall(HEAD.pack(kind, number, len(body)))
        connection.sendall(body)
