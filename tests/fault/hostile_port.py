"""One port at every loopback address; each address is a server of its own and treats connections as its case says."""

import socket
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import pairwise
from ssl import SSLError

BACKLOG = 256
FLOOD_S = 60.0
"""A flood that nobody stops ends by itself, so that no test runs for ever."""


class Ledger:
    """What each address has seen, from the server's side: monotonic times."""

    def __init__(self) -> None:
        self.connections: defaultdict[str, list[float]] = defaultdict(list)
        self.requests: defaultdict[str, list[tuple[float, str]]] = defaultdict(list)
        """With their paths."""

    def asked(self, address: str, path: str) -> None:
        self.requests[address].append((time.monotonic(), path))

    def paths(self, address: str) -> list[str]:
        return [path for _, path in self.requests[address]]

    def shortest_gap_s(self, address: str) -> float:
        """Between the beginnings of two requests in a row."""
        times = [at for at, _ in self.requests[address]]
        return min((later - earlier for earlier, later in pairwise(times)), default=float("inf"))


class Peer:
    """A connection as a case sees it."""

    def __init__(self, plain: socket.socket, address: str, ledger: Ledger) -> None:
        self.socket = plain
        self.address = address
        """The address that was connected to."""
        self.ledger = ledger

    def asked(self, path: str) -> None:
        self.ledger.asked(self.address, path)


Case = Callable[[Peer], None]
"""Treats one connection, which is closed when it returns or the client has gone."""


def flood(send: Callable[[bytes], object], piece: bytes) -> None:
    """Send it again and again, until the client goes."""
    until_s = time.monotonic() + FLOOD_S
    while time.monotonic() < until_s:
        send(piece)


def hold(read: Callable[[int], bytes]) -> None:
    """Say nothing, and keep the connection until the client closes it."""
    while read(65_536):
        pass


@contextmanager
def hostile_port(cases: Mapping[str, Case]) -> Iterator[tuple[int, Ledger]]:
    """Cases by address. An address that has none closes at once."""
    ledger, open_ones = Ledger(), set[socket.socket]()

    def treat(plain: socket.socket) -> None:
        address = plain.getsockname()[0]
        ledger.connections[address].append(time.monotonic())
        with plain, suppress(OSError, SSLError):
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            plain.settimeout(FLOOD_S)
            cases[address](Peer(plain, address, ledger))
        open_ones.discard(plain)

    def accept() -> None:
        with suppress(OSError):
            while True:
                plain = listener.accept()[0]
                open_ones.add(plain)
                threading.Thread(target=treat, args=(plain,), daemon=True).start()

    with socket.create_server(("0.0.0.0", 0), backlog=BACKLOG) as listener:
        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        try:
            yield listener.getsockname()[1], ledger
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            for plain in tuple(open_ones):
                with suppress(OSError):
                    plain.shutdown(socket.SHUT_RDWR)
            thread.join(5)
