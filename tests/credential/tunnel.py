"""A proxy that knows CONNECT alone, and remembers how it was asked."""

import socket
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress


@contextmanager
def tunnel(to_port: int) -> Iterator[tuple[int, list[str]]]:
    """Its port, and the heads of the requests that it was sent. Wherever it is told to go, it goes to `to_port`."""
    heads: list[str] = []

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            lines = iter(self.rfile.readline, b"\r\n")
            heads.append(b"".join(lines).decode())
            with socket.create_connection(("127.0.0.1", to_port)) as far, suppress(OSError):
                self.wfile.write(b"HTTP/1.1 200 Connected\r\n\r\n")
                back = threading.Thread(target=_pump, args=(far, self.connection))
                back.start()
                _pump(self.connection, far)
                back.join()

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield server.server_address[1], heads
        finally:
            server.shutdown()
            thread.join()


def _pump(source: socket.socket, target: socket.socket) -> None:
    """Until one of them ends."""
    with suppress(OSError):
        while data := source.recv(65_536):
            target.sendall(data)
    with suppress(OSError):
        target.shutdown(socket.SHUT_WR)
