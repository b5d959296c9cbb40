"""What the conformance suite of worker pools asks for: each request is the name of something that a worker may do."""

import mmap
import os
import signal
import threading
from pathlib import Path

from whimbrel.worker import LastReply, Serve

_kept: list[bytes] = []


def make_serve() -> Serve:
    return serve


def make_nothing() -> Serve:
    raise ValueError("no worker can begin")


def serve(request: bytes) -> bytes:
    name, _, rest = request.partition(b" ")
    return globals()[f"_{name.decode()}"](rest)  # type: ignore[no-any-return]


def _echo(rest: bytes) -> bytes:
    return rest


def _own(_: bytes) -> bytes:
    return b"%d %d" % (os.getpid(), os.getppid())


def _exit(_: bytes) -> bytes:
    os._exit(0)


def _raise(_: bytes) -> bytes:
    raise KeyboardInterrupt


def _kill(_: bytes) -> bytes:
    os.kill(os.getpid(), signal.SIGKILL)
    return b""


def _pause(rest: bytes) -> bytes:
    """For ever; `rest` is a pipe to tell of it."""
    if rest:
        Path(rest.decode()).write_bytes(b"%d" % os.getpid())
    while True:
        signal.pause()


def _stop(_: bytes) -> bytes:
    os.kill(os.getpid(), signal.SIGSTOP)
    return b""


def _eat(_: bytes) -> bytes:
    return b"".join(bytes(mmap.PAGESIZE) * 10_000 for _ in range(1_000))


def _keep(rest: bytes) -> bytes:
    _kept.append(b"x" * int(rest))
    return b"%d" % os.getpid()


def _last(_: bytes) -> bytes:
    return LastReply(b"%d" % os.getpid())


def _large(rest: bytes) -> bytes:
    return bytes(int(rest))


def _close(_: bytes) -> bytes:
    os.closerange(3, 1_000)
    return b""


def _garbage(rest: bytes) -> bytes:
    """Into every socket there is."""
    for path in Path("/proc/self/fd").iterdir():
        if path.exists() and path.is_socket():
            os.write(int(path.name), rest)
    return b""


def _return_twice(_: bytes) -> bytes:
    """A child goes on with our work."""
    os.fork()
    return b"%d" % os.getpid()


def _child(_: bytes) -> bytes:
    """A process that stays."""
    child = os.fork()
    if child == 0:
        signal.pause()
    return b"%d" % child


def _daemon(_: bytes) -> bytes:
    """A process that stays, in a session of its own, with no parent."""
    reader, writer = os.pipe()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.write(writer, b"%d" % os.getpid())
            signal.pause()
        os._exit(0)
    return os.read(reader, 100)


def _deafen(_: bytes) -> bytes:
    """It has threads, and they do not end."""
    threading.Thread(target=threading.Event().wait).start()
    return b""
