"""Servers of several origins that remember all headers they are sent, and a search for secrets in what a crawl left."""

import gzip
import io
import os
import re
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pyarrow.parquet as pq

from tests.job.site import Answer
from whimbrel.simweb.server.certificate import Authority

NAMES = ("a.test", "b.test", "localhost")


@dataclass(frozen=True)
class Received:
    origin: str
    """Scheme, address and port of the server."""
    path: str
    headers: tuple[tuple[str, str], ...]

    def get(self, name: str) -> str | None:
        return next((value for key, value in self.headers if key.lower() == name.lower()), None)


@dataclass
class Witness:
    """Answers are by path; of a list of them each is given once, and the last for ever."""

    pages: dict[str, Answer | list[Answer]] = field(default_factory=dict)
    received: list[Received] = field(default_factory=list)
    held: dict[str, tuple[threading.Event, threading.Event]] = field(default_factory=dict)
    """Paths whose answer waits: an event that says that they were asked for, and one for which they wait."""

    def at(self, origin: str) -> list[Received]:
        return [one for one in self.received if one.origin == origin]

    def told(self, secret: str) -> set[str]:
        """The origins to which a secret went."""
        return {one.origin for one in self.received if secret in repr(one.headers)}

    def asked(self) -> set[str]:
        return {one.origin for one in self.received}


@contextmanager
def listening(
    witness: Witness, address: str = "127.0.0.1", *, port: int = 0, authority: Authority | None = None
) -> Iterator[str]:
    """A server; its origin."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            witness.received.append(Received(origin, self.path, tuple(self.headers.items())))
            if self.path in witness.held:
                asked, go_on = witness.held[self.path]
                asked.set()
                go_on.wait(60)
            found = witness.pages.get(origin + self.path) or witness.pages.get(self.path) or (404, {}, "nothing here")
            status, headers, body = _next(found)
            sent = body if isinstance(body, bytes) else body.encode()
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(sent))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(sent)

        def log_message(self, format: str, *values: object) -> None:  # noqa: A002
            pass

    with ExitStack() as stack:
        server = stack.enter_context(_Server((address, port), Handler))
        if authority is not None:
            server.socket = _context(authority).wrap_socket(server.socket, server_side=True)
        where = f"[{address}]" if ":" in address else address
        origin = f"{'http' if authority is None else 'https'}://{where}:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        stack.callback(thread.join)
        stack.callback(server.shutdown)
        yield origin


class _Server(ThreadingHTTPServer):
    def __init__(self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler]) -> None:
        self.address_family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        super().__init__(address, handler)

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that goes away is none."""


def _next(found: Answer | list[Answer]) -> Answer:
    if isinstance(found, list):
        return found.pop(0) if len(found) > 1 else found[0]
    return found


def _context(authority: Authority) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with os.fdopen(os.memfd_create("certificate", os.MFD_CLOEXEC), "wb") as file:
        file.write(authority.issue(NAMES))
        file.flush()
        context.load_cert_chain(f"/proc/self/fd/{file.fileno()}")
    return context


def port_of(origin: str) -> int:
    return int(origin.rpartition(":")[2])


def requests_on_record(directory: Path) -> list[str]:
    """The heads of all request records of a crawl's archive."""
    from warcio.archiveiterator import ArchiveIterator

    found = []
    for file in sorted((directory / "archive").glob("*.warc.gz")):
        with file.open("rb") as stream:
            found += [
                record.raw_stream.read().decode()
                for record in ArchiveIterator(stream, no_record_parse=True)
                if record.rec_type == "request"
            ]
    return found


def leaks(directory: Path, *secrets: str, but: tuple[str, ...] = ("job.toml",)) -> list[str]:
    """The files of a directory that hold one of these, in any layer of compression. `but` may."""
    assert all(len(secret) > 5 for secret in secrets), "too short to be searched for"
    wanted = re.compile("|".join(map(re.escape, secrets)).encode())
    return [
        str(path.relative_to(directory))
        for path in sorted(directory.rglob("*"))
        if path.is_file() and path.name not in but and wanted.search(_contents(path))
    ]


def _contents(path: Path) -> bytes:
    data = path.read_bytes()
    if path.name.endswith(".gz"):
        return data + gzip.decompress(data)
    if path.suffix == ".parquet":
        return data + repr(pq.read_table(io.BytesIO(data)).to_pylist()).encode()
    return data


def links(*targets: str) -> Answer:
    anchors = "".join(f'<a href="{target}">x</a>' for target in targets)
    return 200, {"Content-Type": "text/html"}, f"<title>x</title>{anchors}"


def redirect(to: str) -> Answer:
    return 302, {"Location": to}, ""


def mode(path: Path) -> str:
    return oct(path.stat().st_mode & 0o777)
