"""Some twenty pages on two hosts, or as many as are wanted, and the names of these hosts: all that a crawl has to deal
with, in little.

Runs are told apart by the header `X-Run`, so that many crawls can go on side by side and each meets the same web.
"""

import asyncio
import struct
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random
from typing import Final, cast

BIG_BYTES: Final = 300_000
"""More than is kept in memory: it spills into the crawl's directory."""
_HEAD_LIMIT: Final = 65_536
LEAVES: Final = 8
"""Pages of which there can be more. The front page links to so many, and each leaf to as many further ones."""


def _page(title: str, *links: str) -> bytes:
    anchors = "".join(f'<li><a href="{link}">{link}</a></li>' for link in links)
    words = " ".join(Random(title).choices(("heron", "curlew", "godwit", "plover", "dunlin", "knot"), k=120))  # noqa: S311
    return f"<!doctype html><title>{title}</title><h1>{title}</h1><ul>{anchors}</ul><p>{words}</p>".encode()


def _pages(port: int, leaf_count: int) -> dict[tuple[str, str], bytes]:
    leaves = [f"/leaf/{number}" for number in range(leaf_count)]
    found = {
        ("a.test", "/"): _page(
            "front", *leaves[:LEAVES], "/big", "/moved", "/flaky", "/copy/1", "/copy/2", "/private/x", "/gone",
            f"http://b.test:{port}/",
        ),
        ("a.test", "/big"): Random(1).randbytes(BIG_BYTES),  # noqa: S311 - the same in every run
        ("a.test", "/target"): _page("target"),
        ("a.test", "/flaky"): _page("flaky"),
        ("a.test", "/copy/1"): _page("copy"),
        ("a.test", "/copy/2"): _page("copy"),
        ("b.test", "/"): _page("other", "/one", "/two"),
        ("b.test", "/one"): _page("one"),
        ("b.test", "/two"): _page("two", "/big"),
        ("b.test", "/big"): Random(2).randbytes(BIG_BYTES),  # noqa: S311 - likewise
    }  # fmt: skip
    for number, leaf in enumerate(leaves):
        further = leaves[LEAVES * (number + 1) : LEAVES * (number + 2)]
        found["a.test", leaf] = _page(leaf, "/", "/leaf/0", *further)
    return found


class Web:
    """What it was asked, too."""

    def __init__(self, leaf_count: int = LEAVES) -> None:
        self.leaf_count = leaf_count
        self.port = 0
        self.names_port = 0
        self.asked: Counter[tuple[str, str, str]] = Counter()
        """By run, host and path."""
        self._pages: dict[tuple[str, str], bytes] = {}

    async def serve(self, ready: threading.Event) -> None:
        """Until `stop`."""
        self._stopped, self._loop = asyncio.Event(), asyncio.get_running_loop()
        server = await asyncio.start_server(self._connected, "127.0.0.1", 0, backlog=512, limit=_HEAD_LIMIT)
        self.port = server.sockets[0].getsockname()[1]
        self._pages = _pages(self.port, self.leaf_count)
        names, _ = await self._loop.create_datagram_endpoint(_Names, ("127.0.0.1", 0))
        self.names_port = names.get_extra_info("sockname")[1]
        async with server:
            ready.set()
            await self._stopped.wait()
        names.close()

    def stop(self) -> None:
        """From another thread."""
        self._loop.call_soon_threadsafe(self._stopped.set)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                fields = dict(line.lower().split(": ", 1) for line in head.split("\r\n")[1:] if ": " in line)
                path = head.split(" ", 2)[1]
                host = fields["host"].partition(":")[0]
                status, headers, body = self._answer(fields.get("x-run", ""), host, path)
                lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers]
                writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError, KeyError, IndexError):
            pass  # It has gone, as many here do.
        finally:
            writer.close()

    def _answer(self, run: str, host: str, path: str) -> tuple[str, list[str], bytes]:
        self.asked[run, host, path] += 1
        if path == "/robots.txt":
            if host != "a.test":
                return "404 Not Found", [], b""
            return "200 OK", ["Content-Type: text/plain"], b"User-agent: *\nDisallow: /private\n"
        if (host, path) == ("a.test", "/moved"):
            return "302 Found", ["Location: /target"], b""
        if (host, path) == ("a.test", "/flaky") and self.asked[run, host, path] == 1:
            return "503 Busy", [], b"later"
        body = self._pages.get((host, path))
        if body is None:
            return "404 Not Found", ["Content-Type: text/plain"], b"no such page"
        kind = "application/octet-stream" if path == "/big" else "text/html; charset=utf-8"
        return "200 OK", [f"Content-Type: {kind}"], body


class _Names(asyncio.DatagramProtocol):
    """`a.test` and `b.test` are here; every other name does not exist."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.DatagramTransport", transport)  # 3.11's own is no subclass of it

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        end = data.index(b"\0", 12) + 1
        question, name = data[12 : end + 4], data[12:end].lower()
        kind = int.from_bytes(data[end : end + 2], "big")
        known = name in (b"\1a\4test\0", b"\1b\4test\0")
        answer = known and kind == 1
        head = data[:2] + struct.pack(">HHHHH", 0x8180 if known else 0x8183, 1, int(answer), 0, 0)
        record = b"\xc0\x0c" + struct.pack(">HHIH", 1, 1, 300, 4) + bytes((127, 0, 0, 1))
        self._transport.sendto(head + question + (record if answer else b""), addr)


@contextmanager
def served(leaf_count: int = LEAVES) -> Iterator[Web]:
    """On a thread of its own."""
    web, ready = Web(leaf_count), threading.Event()
    thread = threading.Thread(target=lambda: asyncio.run(web.serve(ready)), daemon=True)
    thread.start()
    assert ready.wait(10)
    try:
        yield web
    finally:
        web.stop()
        thread.join(10)
