"""Where workers come from: a process forked from the program before it has threads, which forks them one by one.

So a worker has the program's functions and classes as they are, wherever they were defined, and nothing of what came
later: no threads, no event loop, no locks that other threads hold.
"""

import os
import select
import signal
import socket
import threading
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Final

from whimbrel.worker.api import MakeServe
from whimbrel.worker.parent import serve_forks
from whimbrel.worker.wire import ERROR_NUMBER

_ANSWER_S: Final = 30.0
_END_S: Final = 10.0
"""For the fork server to end its workers, before it is killed itself."""


class ForkServerLost(Exception):
    """The process that forks workers has died, or does not answer: there can be no more workers."""

    def __init__(self) -> None:
        super().__init__("the process that forks workers has died; the system kills processes if memory runs out")


@contextmanager
def fork_server(make_serve: MakeServe, memory_bytes: int) -> "Iterator[ForkServer]":
    """Enter this before the program starts threads. A worker may take `memory_bytes` beside what it begins with.
    The same process must leave it, and all workers end then."""
    with ExitStack() as opened:
        # All that the child needs, too: what cannot be had is told here, where there is somebody to tell.
        ours, theirs, alarm, bell = (opened.enter_context(one) for _ in range(2) for one in socket.socketpair())
        program = os.pidfd_open(os.getpid())
        opened.callback(os.close, program)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 warns of threads; the child uses none
            process = os.fork()
        if process == 0:
            ours.close()
            serve_forks(make_serve, memory_bytes, theirs, (alarm, bell), program)
        kept = socket.socket(fileno=ours.detach())
    server = ForkServer(process, kept)
    try:
        yield server
    finally:
        server.close()


class ForkServer:
    """Safe to use from several threads. `fork_server` makes it."""

    def __init__(self, process: int, connection: socket.socket) -> None:
        self._number = process
        self._process = os.pidfd_open(process)
        """Not the number, which may be another's when it is used."""
        self._socket = connection
        self._socket.settimeout(_ANSWER_S)
        self._lock = threading.Lock()
        self._lost = False

    def spawn(self) -> tuple[int, socket.socket]:
        """A descriptor of a new worker's process, and the connection to it. OSError if no process can be made at the
        moment, ForkServerLost if none can be made ever again."""
        with self._lock:
            ours, theirs = socket.socketpair()
            try:
                with theirs:
                    return self._ask(theirs.fileno()), ours
            except BaseException:
                ours.close()
                raise

    def _ask(self, descriptor: int) -> int:
        if self._lost:
            raise ForkServerLost
        try:
            socket.send_fds(self._socket, [b"w"], [descriptor])
            answer, found, _, _ = socket.recv_fds(self._socket, ERROR_NUMBER.size, 1, socket.MSG_CMSG_CLOEXEC)
        except OSError as error:
            # Also if it was too slow: a late answer would be taken for the next one.
            self._lost = True
            raise ForkServerLost from error
        if len(answer) < ERROR_NUMBER.size:
            self._lost = True
            raise ForkServerLost
        (number,) = ERROR_NUMBER.unpack(answer)
        if number or not found:
            raise OSError(number, f"no worker can be forked: {os.strerror(number)}")
        return found[0]

    @property
    def alive(self) -> bool:
        """False as soon as its workers may have died because it did."""
        if self._lost or _is_readable(self._process):
            return False
        # When a process dies, its sockets are closed first, then its children are told, and then its parent.
        # Not a look at what can be read: the thread that waits for an answer may take it away meanwhile.
        return not _is_hung_up(self._socket.fileno())

    def close(self) -> None:
        self._lost = True
        # A copy of the socket may be open in another fork server, so closing alone would tell nothing.
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        if not _is_readable(self._process, _END_S):
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._process, signal.SIGKILL)
        with suppress(ChildProcessError):
            os.waitpid(self._number, 0)
        os.close(self._process)


def _is_hung_up(descriptor: int) -> bool:
    """Whether nobody is at the other end of a socket any more."""
    poll = select.poll()
    poll.register(descriptor, select.POLLRDHUP)
    return bool(poll.poll(0))


def _is_readable(descriptor: int, timeout_s: float = 0.0) -> bool:
    """A process is when it has ended."""
    events = select.poll()
    events.register(descriptor, select.POLLIN)
    return bool(events.poll(timeout_s * 1000))
