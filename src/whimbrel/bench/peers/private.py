"""A network and a view of files for the comparison alone.

In new mount and network namespaces (unshare(1)) there is a loopback device and nothing else: no peer can reach a real
host, whatever a link says, and every port is free. There /etc/resolv.conf names our own server.
"""

import fcntl
import shutil
import socket
import struct
import subprocess
from pathlib import Path
from typing import Final

_SIOCGIFFLAGS: Final = 0x8913
_SIOCSIFFLAGS: Final = 0x8914
_IFF_UP: Final = 1
_PROBE_S: Final = 10
_WAYS: Final = (
    ("unshare", "--mount", "--net"),
    # Without root, where the system lets users have namespaces of their own.
    ("unshare", "--mount", "--net", "--user", "--map-root-user"),
)


def find_way() -> list[str] | None:
    """The words before a command that put it into a private place; None when this machine does not let us."""
    if shutil.which("unshare") is None or shutil.which("mount") is None:
        return None
    for way in _WAYS:
        probe = [*way, "mount", "--bind", "/etc/hosts", "/etc/hosts"]
        if subprocess.run(probe, capture_output=True, timeout=_PROBE_S, check=False).returncode == 0:  # noqa: S603
            return list(way)
    return None


def settle(folder: Path) -> None:
    """Once inside: raise the loopback device, and let names be asked of 127.0.0.1."""
    _raise_loopback()
    files = {
        "/etc/resolv.conf": "nameserver 127.0.0.1\noptions timeout:5 attempts:2\n",
        "/etc/hosts": "127.0.0.1 localhost\n",
    }
    for path, text in files.items():
        own = folder / Path(path).name
        own.write_text(text, encoding="ascii")
        subprocess.run(["mount", "--bind", str(own), path], check=True)  # noqa: S603, S607


def _raise_loopback() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        request = struct.pack("16sh14x", b"lo", 0)
        flags = struct.unpack("16sh14x", fcntl.ioctl(sock, _SIOCGIFFLAGS, request))[1]
        fcntl.ioctl(sock, _SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", flags | _IFF_UP))
