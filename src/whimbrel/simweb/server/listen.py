"""Sockets of the simulated web, none of which can be reached from another machine."""

import asyncio
import contextlib
import errno
import socket
import struct
from typing import Final

from whimbrel.error import UsageError
from whimbrel.simweb.host import DEAD_ADDRESS

BACKLOG: Final = 4096
_DEAD_FILL: Final = 4


class ListenError(UsageError, OSError):
    """A port that cannot be had; the message says which and what to do."""


def refuse_taken(*ports: int) -> None:
    """ListenError when somebody listens on one of the ports already.

    With SO_REUSEPORT, which `dead` needs, a second server would silently share a port with the first; a socket
    without it cannot be bound then.
    """
    for port in ports:
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            _bind(probe, "0.0.0.0", port)


def every_loopback(port: int) -> socket.socket:
    """One listening socket for all of 127.0.0.0/8: the wildcard address, bound to the loopback device."""
    return _listening("0.0.0.0", port, BACKLOG)


def loopback_udp(port: int) -> socket.socket:
    """For datagrams to 127.0.0.1 alone: an answer leaves from the address it was asked at only if that is bound."""
    return _bind(socket.socket(socket.AF_INET, socket.SOCK_DGRAM), "127.0.0.1", port)


def dead(port: int) -> list[socket.socket]:
    """Sockets that make `DEAD_ADDRESS` swallow connections: a listener that nobody accepts from, its queue full.

    Linux drops the first packet of a connection to a full queue, so the client waits until it gives up.
    """
    listener = _listening(DEAD_ADDRESS, port, 0)
    held = [listener]
    for _ in range(_DEAD_FILL):
        filler = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        filler.settimeout(0)
        with contextlib.suppress(BlockingIOError):
            filler.connect((DEAD_ADDRESS, port))
        held.append(filler)
    return held


def refused(port: int) -> socket.socket:
    """Hold a port without listening, so that connections are refused and nobody else can take it."""
    return _bind(socket.socket(socket.AF_INET, socket.SOCK_STREAM), "0.0.0.0", port)


def _listening(address: str, port: int, backlog: int) -> socket.socket:
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    # Lets `dead` listen on one address of a port whose wildcard is taken; the exact address wins.
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    _bind(sock, address, port)
    sock.listen(backlog)
    return sock


def _bind(sock: socket.socket, address: str, port: int) -> socket.socket:
    sock.settimeout(0)
    try:
        # Unprivileged processes may do this since Linux 5.7. Without it we would listen on every interface.
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"lo\0")
        sock.bind((address, port))
    except OSError as error:
        sock.close()
        reason = "the port is in use" if error.errno == errno.EADDRINUSE else str(error)
        choose = "choose others with --http-port, --https-port and --dns-port, or use --free-ports"
        raise ListenError(f"cannot listen on port {port}: {reason}; {choose}") from error
    return sock


def reset(transport: asyncio.WriteTransport) -> None:
    """Drop a connection so that the client sees a reset: nothing lingers, so the kernel sends no orderly end."""
    sock = transport.get_extra_info("socket")
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    transport.abort()
