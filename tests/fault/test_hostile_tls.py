"""Servers whose TLS is bad, broken or endless, all in one crawl beside a good one; and what one of them does to a
transport."""

import asyncio
import shutil
import threading
import time
from pathlib import Path

import pytest

from tests.fault.hostile_certificate import write_root
from tests.fault.hostile_crawl import HostileCrawl, assert_unharmed, crawl
from tests.fault.hostile_port import Case, hostile_port
from tests.fault.openssl_server import library
from tests.fault.tls_case import ANSWERS, BUSY, CERTIFICATES, HANDSHAKES, HTTP1_FOR_HTTP2, good, prepared
from tests.fetch.rig import request, run, transport

pytestmark = pytest.mark.skipif(
    library() is None or shutil.which("openssl") is None, reason="OpenSSL's library or its command is not installed"
)

NO_ROBOTS = ("denied robots-unreachable",)
ENDINGS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys((*CERTIFICATES, *HANDSHAKES), NO_ROBOTS),
    # The second try is made over HTTP/1.1.
    "http1-for-http2": ("stored new",),
    "name-in-cn-only": ("stored new",),
    **dict.fromkeys(ANSWERS, ("failed cut",)),
    "ended-without-length": ("stored new",),
    "reset-in-body": ("failed reset", "failed cut"),
    "no-answer-at-all": ("failed closed",),
    "frames-for-http1": ("failed bad-http",),
    **dict.fromkeys(BUSY, ("failed timeout", "failed reset", "failed closed")),
    **dict.fromkeys(("key-updates-after-answer", "tickets-after-answer"), ("stored new",)),
}
"""libcurl believes the common name where a certificate has no other, which no public authority issues any more."""
MOST_S = 60
"""Alone it takes 18 s on two cores."""


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, HostileCrawl]:
    cases = {**CERTIFICATES, **HANDSHAKES, **ANSWERS, **BUSY, "http1-for-http2": HTTP1_FOR_HTTP2}
    folder = tmp_path_factory.mktemp("tls")
    return folder, crawl(folder, cases, "/bad")


def test_hostile_servers_do_no_harm_to_a_crawl(found: tuple[Path, HostileCrawl]) -> None:
    folder, crawled = found
    assert_unharmed(folder, crawled)
    assert crawled.seconds < MOST_S


@pytest.mark.parametrize("case", ENDINGS)
def test_a_hostile_server_ends_with_a_reason(found: tuple[Path, HostileCrawl], case: str) -> None:
    assert found[1].endings[case, "/bad"] in ENDINGS[case]


def test_a_host_with_a_bad_certificate_says_so(found: tuple[Path, HostileCrawl]) -> None:
    assert "robots.txt could not be obtained" in found[1].use.said


def test_tls_that_is_busy_without_end_does_not_stop_others(tmp_path: Path) -> None:
    """OpenSSL does not come back while there is something to read: the limits on time alone would not end it."""
    ready = threading.Event()
    cases: dict[str, Case] = {"127.8.0.1": good, "127.8.0.2": prepared(ready)}

    def time_of_sending() -> float:
        ready.wait()
        return time.monotonic()

    async def scene(port: int) -> float:
        async with transport(ca=str(write_root(tmp_path)), first_byte_timeout_s=60.0) as made:
            hostile = asyncio.create_task(made.fetch(request(f"https://127.8.0.2:{port}/page"), "127.8.0.2"))
            sent_s = await asyncio.to_thread(time_of_sending)
            exchange = await made.fetch(request(f"https://127.8.0.1:{port}/page"), "127.8.0.1")
            assert exchange.response is not None
            assert (await hostile).trouble in ("reset", "closed")
            return time.monotonic() - sent_s

    with hostile_port(cases) as (port, _):
        assert run(scene(port)) < 1.5
