"""A web site of a few pages on loopback addresses, served by Python's own server."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

Answer = tuple[int, Mapping[str, str], str | bytes]
"""Status, headers and body."""


def page(*links: str, title: str = "a page", head: str = "") -> Answer:
    anchors = "".join(f'<a href="{link}">to {link}</a>\n' for link in links)
    return 200, {"Content-Type": "text/html; charset=utf-8"}, f"<title>{title}</title>{head}\n{anchors}"


def moved(to: str) -> Answer:
    return 302, {"Location": to}, ""


@contextmanager
def served(pages: Mapping[str, Answer], *more: str, port: int = 0) -> Iterator[int]:
    """Serve on 127.0.0.1 and further addresses, all at one port. Keys are paths, or `ADDRESS/path` for one address."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            where = str(self.request.getsockname()[0])
            status, headers, body = pages.get(where + self.path) or pages.get(self.path) or (404, {}, "nothing here")
            self.send_response(status)
            sent = body if isinstance(body, bytes) else body.encode()
            for name, value in {**headers, "Content-Length": str(len(sent))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(sent)

        def log_message(self, format: str, *values: object) -> None:  # noqa: A002
            pass

    with ExitStack() as stack:
        for address in ("127.0.0.1", *more):
            server = stack.enter_context(ThreadingHTTPServer((address, port), Handler))
            port = server.server_address[1]
            thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
            thread.start()
            stack.callback(thread.join)
            stack.callback(server.shutdown)
        yield port
