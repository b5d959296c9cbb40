"""Where workers come from: a process forked from the program before the crawl begins, which forks them one by one.

So a worker has the user's functions and classes as they are, wherever they were defined, and nothing of the crawl: no
threads, no event loop, no open files of it. Forking the crawl itself later would copy locks that other threads hold.
"""

import ctypes
import os
import signal
import socket
import struct
import warnings
from contextlib import suppress
from typing import Final

from whimbrel.handle.rule import Rules
from whimbrel.handle.worker import begin

_PID: Final = struct.Struct("<i")
_PR_SET_PDEATHSIG: Final = 1


class Nursery:
    """To be made before threads are started, and closed by the same process."""

    def __init__(self, rules: Rules, memory_bytes: int) -> None:
        ours, theirs = socket.socketpair()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 warns of threads; the child uses none
            self._pid = os.fork()
        if self._pid == 0:
            ours.close()
            _serve(rules, theirs, memory_bytes)
        theirs.close()
        self._socket = ours

    def worker(self) -> tuple[int, socket.socket]:
        """Its process number and the connection to it."""
        ours, theirs = socket.socketpair()
        with theirs:
            socket.send_fds(self._socket, [b"w"], [theirs.fileno()])
        answer = self._socket.recv(_PID.size, socket.MSG_WAITALL)
        if len(answer) < _PID.size:
            ours.close()
            raise OSError("the process that makes workers has died")
        return _PID.unpack(answer)[0], ours

    def close(self) -> None:
        """Its workers end with it."""
        self._socket.close()
        with suppress(ChildProcessError):
            os.waitpid(self._pid, 0)


def _serve(rules: Rules, connection: socket.socket, memory_bytes: int) -> None:
    """The life of the nursery; never returns."""
    living: set[int] = set()
    try:
        _become_nobody()
        while True:
            message, descriptors, _, _ = socket.recv_fds(connection, 1, 1)
            if not message or not descriptors:
                break
            living = {child for child in living if not _is_over(child)}
            child = os.fork()
            if child == 0:
                connection.close()
                _die_with_parent()
                begin(rules, socket.socket(fileno=descriptors[0]), memory_bytes)
            living.add(child)
            os.close(descriptors[0])
            connection.sendall(_PID.pack(child))
    except BaseException:  # noqa: BLE001, S110 - nobody is left to tell
        pass
    finally:
        _end_all(living)
        os._exit(0)


def _is_over(child: int) -> bool:
    """Whether a worker has ended. It is waited for, so that its processor time counts as the program's."""
    with suppress(ChildProcessError):
        return os.waitpid(child, os.WNOHANG)[0] != 0
    return True


def _end_all(children: set[int]) -> None:
    for child in children:
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
    for child in children:
        with suppress(ChildProcessError):
            os.waitpid(child, 0)


def _become_nobody() -> None:
    """Nothing of the program that was copied is used: neither its signal handlers nor its event loop."""
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN if number == signal.SIGINT else signal.SIG_DFL)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)


def _die_with_parent() -> None:
    """Also in an endless loop, when nobody can be told."""
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
