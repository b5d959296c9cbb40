"""The fork server's own process: the parent of all workers."""

import ctypes
import os
import select
import signal
import socket
from contextlib import suppress
from types import FrameType
from typing import Final, NoReturn

from whimbrel.worker.api import MakeServe
from whimbrel.worker.process import run_worker
from whimbrel.worker.wire import ERROR_NUMBER

_PR_SET_PDEATHSIG: Final = 1
_PR_SET_CHILD_SUBREAPER: Final = 36
_Bells = tuple[socket.socket, socket.socket]
_IGNORED: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""They mean the program, which ends its workers when it is done with them."""


def serve_forks(
    make_serve: MakeServe, memory_bytes: int, control: socket.socket, bells: _Bells, program: int
) -> NoReturn:
    """The life of the fork server, in a process that was just forked. It ends when the other side of `control` is
    closed, or when the process behind the descriptor `program` has ended. `bells`: a pair of sockets, for signals."""
    try:
        parent = _WorkerParent(make_serve, memory_bytes, control, bells, program)
        try:
            parent.run()
        finally:
            parent.end_children()
    finally:
        os._exit(0)


class _WorkerParent:
    def __init__(
        self, make_serve: MakeServe, memory_bytes: int, control: socket.socket, bells: _Bells, program: int
    ) -> None:
        self._make_serve = make_serve
        self._memory_bytes = memory_bytes
        self._control = control
        self._program = program
        self._alarm, self._bell = bells
        self._workers: set[int] = set()
        self._own = os.getpid()

    def run(self) -> None:
        self._take_signals()
        _prctl(_PR_SET_CHILD_SUBREAPER, 1)
        events = select.poll()
        for one in (self._control.fileno(), self._program, self._bell.fileno()):
            events.register(one, select.POLLIN)
        while True:
            ready = {descriptor for descriptor, _ in events.poll()}
            if self._program in ready:
                return
            if self._bell.fileno() in ready:
                self._bell.recv(4096)
            self._reap()
            if self._control.fileno() in ready and not self._answer():
                return

    def _take_signals(self) -> None:
        """Nothing of the program that was copied is used: neither its signal handlers nor its event loop. Handlers of
        our own, since a signal that is ignored would be ignored in every program that a worker starts."""
        self._alarm.settimeout(0)
        signal.set_wakeup_fd(self._alarm.fileno(), warn_on_full_buffer=False)
        for number in (*_IGNORED, signal.SIGCHLD):
            signal.signal(number, _do_nothing)

    def _answer(self) -> bool:
        """Fork one worker; False when the program wants none any more."""
        message, descriptors, _, _ = socket.recv_fds(self._control, 1, 1, socket.MSG_CMSG_CLOEXEC)
        if not message or not descriptors:
            return False
        try:
            child = os.fork()
        except OSError as error:
            os.close(descriptors[0])
            self._control.sendall(ERROR_NUMBER.pack(error.errno or 1))
            return True
        if child == 0:
            self._become_worker(descriptors[0])
        os.close(descriptors[0])
        self._workers.add(child)
        with suppress(OSError):
            os.setpgid(child, child)
        # Made here, where the child is not waited for yet: its number cannot be another's.
        try:
            process = os.pidfd_open(child)
        except OSError as error:
            os.kill(child, signal.SIGKILL)
            self._control.sendall(ERROR_NUMBER.pack(error.errno or 1))
            return True
        socket.send_fds(self._control, [ERROR_NUMBER.pack(0)], [process])
        os.close(process)
        return True

    def _become_worker(self, descriptor: int) -> NoReturn:
        try:
            _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            for one in (self._control, self._alarm, self._bell):
                one.close()
            os.close(self._program)
            os.setpgid(0, 0)
            if os.getppid() == self._own:
                run_worker(self._make_serve, socket.socket(fileno=descriptor), self._memory_bytes)
        finally:
            os._exit(0)

    def _reap(self) -> None:
        """Wait for children that have ended, so that their processor time counts as the program's. What a worker has
        started ends with it; so its group is killed before its number is free."""
        with suppress(ChildProcessError):
            while ended := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT):
                if ended.si_pid in self._workers:
                    self._workers.discard(ended.si_pid)
                    with suppress(OSError):
                        os.killpg(ended.si_pid, signal.SIGKILL)
                os.waitpid(ended.si_pid, 0)

    def end_children(self) -> None:
        """Workers, and what they have left behind: orphans become children of this process."""
        with suppress(ChildProcessError):
            while True:
                for child in self._workers | _children():
                    with suppress(OSError):
                        os.kill(child, signal.SIGKILL)
                self._workers.discard(os.waitpid(-1, 0)[0])


def _children() -> set[int]:
    """Empty on a kernel that does not list them."""
    with suppress(FileNotFoundError), open("/proc/thread-self/children", encoding="ascii") as file:  # noqa: PTH123
        return {int(number) for number in file.read().split()}
    return set()


def _prctl(option: int, value: int) -> None:
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).prctl(option, value)


def _do_nothing(_signal: int, _frame: FrameType | None) -> None:
    """The bell has rung."""
