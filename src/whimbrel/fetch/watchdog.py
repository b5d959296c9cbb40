"""Ends a connection that libcurl cannot leave.

OpenSSL reads on while what comes is for itself (KeyUpdate, session tickets, HelloRequest) and not for libcurl. A server
that sends such messages as fast as they can be read keeps the thread of the event loop inside one call, and no limit on
time helps: what would look at the clock waits for that thread. It also happens at connections that are kept for later,
and while one is closed. libcurl has no option against it, so a thread of its own looks four times a second whether
libcurl has come back.
"""

import fcntl
import os
import socket
import struct
import termios
import threading
from collections import deque
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Final

_LOOK_S: Final = 0.25
"""Libcurl is stuck if it has not come back from one look to the next. Otherwise a call takes milliseconds."""
_SAMPLE_S: Final = 0.05
_MOST_SOCKETS: Final = 8_192
"""So many that were opened last are known: more than can be open at once."""
_BYTES_RECEIVED: Final = struct.Struct("=128xQ")
"""tcpi_bytes_received of Linux's struct tcp_info."""
_THROW_AWAY_BYTES: Final = 1 << 20
_WAITING: Final = struct.Struct("i")


class Watchdog:
    """The loop's thread says when libcurl is called and when it has come back (`turn`), and which sockets were opened;
    all else is done by the watchdog's own thread."""

    def __init__(self) -> None:
        self.turn = 0
        """Odd while libcurl is at work. Only the thread of the loop changes it."""
        self._opened: deque[int] = deque(maxlen=_MOST_SOCKETS)
        self._closed = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        self._closed.clear()
        self._thread = threading.Thread(target=self._watch, name="whimbrel-watchdog", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._closed.set()
        if self._thread is not None:
            self._thread.join()

    def opened(self, descriptor: int) -> None:
        """A socket that is libcurl's from now on, whatever number it gets there."""
        self._opened.append(os.fstat(descriptor).st_ino)

    def _watch(self) -> None:
        last = 0
        while not self._closed.wait(_LOOK_S):
            turn = self.turn
            if turn % 2 and turn == last:
                with suppress(OSError):
                    self._end_what_moves(turn)
            last = turn

    def _end_what_moves(self, turn: int) -> None:
        """While libcurl is inside a call, the only socket of its own that is read from is the one it cannot leave."""
        with ExitStack() as stack:
            sockets = [stack.enter_context(found) for found in self._sockets()]
            before = [_bytes_read(one) for one in sockets]
            self._closed.wait(_SAMPLE_S)
            moved = [one for one, read in zip(sockets, before, strict=True) if _bytes_read(one) > read]
            if self.turn == turn:
                for one in moved:
                    _end(one)

    def _sockets(self) -> list[socket.socket]:
        """Those of libcurl that are open now, as copies, so that a number that is used anew does no harm."""
        known, found = frozenset(self._opened.copy()), []
        for entry in Path("/proc/self/fd").iterdir():
            with suppress(OSError):
                number = int(entry.name)
                if os.fstat(number).st_ino in known:
                    copy = socket.socket(fileno=os.dup(number))
                    if os.fstat(copy.fileno()).st_ino in known:
                        found.append(copy)
                    else:
                        copy.close()
        return found


def _end(one: socket.socket) -> None:
    """Linux resets a connection that was shut down both ways when more comes. What has come could still be read, and
    would take seconds: it is thrown away, which TCP does with MSG_TRUNC."""
    with suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)
        while one.recv(_THROW_AWAY_BYTES, socket.MSG_TRUNC | socket.MSG_DONTWAIT):
            pass


def _bytes_read(one: socket.socket) -> int:
    """That the process has taken from it since it was opened."""
    received: int = _BYTES_RECEIVED.unpack(one.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _BYTES_RECEIVED.size))[0]
    waiting: int = _WAITING.unpack(fcntl.ioctl(one.fileno(), termios.FIONREAD, bytes(_WAITING.size)))[0]
    return received - waiting
