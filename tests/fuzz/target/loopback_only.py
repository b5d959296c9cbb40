"""A process that can reach nothing but its own loopback device, nor can those that it starts."""

import ctypes
import fcntl
import os
import socket
import struct
from typing import Final

_NEW_NET: Final = 0x4000_0000
_NEW_USER: Final = 0x1000_0000
_SET_FLAGS: Final = 0x8914
_UP: Final = 0x41


def leave_network() -> None:
    """Move this process, which must have one thread, to a network namespace of its own. OSError where the system does
    not allow that."""
    flags = _NEW_NET if os.geteuid() == 0 else _NEW_NET | _NEW_USER
    if ctypes.CDLL(None, use_errno=True).unshare(flags):
        raise OSError(ctypes.get_errno(), "no network namespace can be made")
    with socket.socket() as any_socket:
        fcntl.ioctl(any_socket, _SET_FLAGS, struct.pack("16sh22x", b"lo", _UP))
