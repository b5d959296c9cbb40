"""A server that sends as many bytes as the path says, at every loopback address, and logs what it is asked for."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from random import Random
from typing import NamedTuple


class Asked(NamedTuple):
    at_s: float
    """Monotonic."""
    host: str
    path: str


class BodyServer(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256

    def __init__(self, seconds: float) -> None:
        super().__init__(("0.0.0.0", 0), _Handler)
        self.seconds = seconds
        """How long a body takes."""
        self.log: list[Asked] = []

    @property
    def port(self) -> int:
        return int(self.server_address[1])

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that has gone is expected here."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: BodyServer

    def do_GET(self) -> None:
        host = self.headers.get("Host", "")
        self.server.log.append(Asked(time.monotonic(), host, self.path))
        if self.path == "/robots.txt":
            self.send_response(404)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        size = int(self.path.rpartition("/")[2] or 0)
        piece = Random(host).randbytes(65_536)  # noqa: S311 - no two hosts bring the same payload
        self.send_response(200)
        self.send_header("Content-Type", "application/octet-stream")
        self.send_header("Content-Length", str(size))
        self.end_headers()
        for at in range(0, size, len(piece)):
            self.wfile.write(piece[: size - at])
            time.sleep(self.server.seconds * len(piece) / size)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's name
        """Not to the terminal."""


@contextmanager
def body_server(seconds: float = 0.0) -> Iterator[BodyServer]:
    server = BodyServer(seconds)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)
