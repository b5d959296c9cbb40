"""What name servers answer. The number of the question is filled in, or c-ares would look at nothing."""

import asyncio
import ipaddress
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, Final

from tests.fuzz.api import Target
from tests.fuzz.target.loopback import on_loop
from whimbrel.clock import SystemClock
from whimbrel.fetch.resolver import DnsConfig, DnsResolver

_TIMEOUT_S: Final = 0.05
_QUESTION: Final = b"\1h\4test\0"
"""Where an input has this, the name that was really asked for is put in its place."""


class _Server(asyncio.DatagramProtocol):
    def __init__(self) -> None:
        self.answer = b""

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def datagram_received(self, data: bytes, address: Any) -> None:
        name_end = data.index(b"\0", 12) + 1
        # The kind of the question stands behind its name.
        answer = self.answer.replace(_QUESTION + b"\0\1", data[12:name_end] + data[name_end : name_end + 2])
        self._transport.sendto((data[:2] + answer)[:60_000], address)


@asynccontextmanager
async def scene() -> AsyncIterator[Callable[[bytes], Awaitable[None]]]:
    server = _Server()
    loop = asyncio.get_running_loop()
    listening, _ = await loop.create_datagram_endpoint(lambda: server, local_addr=("127.0.0.1", 0))
    port = listening.get_extra_info("sockname")[1]
    config = DnsConfig(server=f"127.0.0.1:{port}", timeout_s=_TIMEOUT_S, tries=1, cache_bytes=10_000)
    made = DnsResolver(config)
    made.bind("clock", SystemClock())
    await made.open()
    names = iter(range(10**9))

    async def read(data: bytes) -> None:
        server.answer = data
        found = await made.resolve(f"h{next(names)}.test")
        for address in found.addresses:
            ipaddress.ip_address(address)
        expected = (config.min_ttl_s, config.max_ttl_s) if found.addresses else (config.failure_ttl_s,) * 2
        assert expected[0] <= found.ttl_s <= expected[1], found.ttl_s

    try:
        yield read
    finally:
        await made.close()
        listening.close()


TARGET: Final = Target(
    "dns",
    on_loop(scene),
    (
        *(
            b"\x81\x80",
            b"\x81\x83",
            b"\x83\x80",
            b"\x00\x01",
            b"\xff\xff",
            b"\xc0\x0c",
            b"\xc0\x00",
            b"\xc0\xff",
            b"\x3f",
            b"\x40",
        ),
        *(
            b"\x00\x05\x00\x01",
            b"\x00\x1c\x00\x01",
            b"\x00\x29",
            b"\x7f\xff\xff\xff",
            b"\xff\xff\xff\xff",
            b"\x00\x10",
            _QUESTION,
        ),
    ),
    most_bytes=60_000,
    quick_inputs=500,
)
