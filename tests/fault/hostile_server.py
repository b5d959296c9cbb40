"""A server whose answers are made byte by byte, at every loopback address, by functions of the host and the path."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from socketserver import StreamRequestHandler, ThreadingTCPServer

Answer = Callable[[str, str], bytes]
"""Host and path of a request to the whole answer, status line and all."""


def answer(body: bytes, *headers: str, status: str = "200 OK") -> bytes:
    lines = [f"HTTP/1.1 {status}", *headers, f"Content-Length: {len(body)}", "", ""]
    return "\r\n".join(lines).encode("latin-1") + body


def html(body: bytes, *headers: str) -> bytes:
    return answer(body, "Content-Type: text/html", *headers)


NOT_FOUND = answer(b"", status="404 Not Found")


class _Server(ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 256
    answer: Answer


class _Handler(StreamRequestHandler):
    disable_nagle_algorithm = True

    def handle(self) -> None:
        server = self.server
        assert isinstance(server, _Server)
        with suppress(OSError):
            while line := self.rfile.readline():
                path, host = line.split()[1].decode(), ""
                while (field := self.rfile.readline()) not in (b"\r\n", b"\n", b""):
                    name, _, value = field.decode("latin-1").partition(":")
                    host = value.strip() if name.lower() == "host" else host
                self.wfile.write(server.answer(host, path))


@contextmanager
def hostile_server(answer: Answer) -> Iterator[int]:
    """The port."""
    with _Server(("0.0.0.0", 0), _Handler) as server:
        server.answer = answer
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield int(server.server_address[1])
        finally:
            server.shutdown()
            thread.join()
