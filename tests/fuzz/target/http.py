"""Whole answers of HTTP/1 servers, from the socket to a record and to rows."""

import gzip
import io
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Final

from warcio.archiveiterator import ArchiveIterator

from tests.fetch.rig import request, transport
from tests.fuzz.api import Target
from tests.fuzz.target.document import check_page, url_of
from tests.fuzz.target.loopback import Server, fetch, on_loop
from tests.parse.answers import fingerprinted
from whimbrel.archive.api import RecordPlace
from whimbrel.archive.record import capture_records
from whimbrel.clock import SystemClock
from whimbrel.effect.archivist import captures_of
from whimbrel.facts.identity import UrlIds
from whimbrel.facts.payload import payload
from whimbrel.fetch.api import Exchange, Fetched, Response
from whimbrel.fetch.trouble import Fault
from whimbrel.outcome.retry_after import MAX_RETRY_AFTER_S
from whimbrel.parse.api import Parsed
from whimbrel.parse.parser import Parser
from whimbrel.parse.sitemap import MAX_URLS
from whimbrel.result.rows import rows
from whimbrel.result.work import SettledVisit, Work
from whimbrel.visit import Visit

_MOST_BODY: Final = 600_000
_PLACE: Final = RecordPlace("archive/a.warc.gz", 0, 1)


@asynccontextmanager
async def scene() -> AsyncIterator[Callable[[bytes], Awaitable[None]]]:
    server, parser = Server(), Parser(None)
    parser.bind("clock", SystemClock())
    await parser.open()
    async with server.listening(), transport(max_bytes=_MOST_BODY, spill_bytes=50_000) as made:

        async def read(data: bytes) -> None:
            server.answer = data
            server.requests.clear()
            asked = request(f"http://a.test:{server.port}/dir/page")
            exchange = await fetch(made, asked)
            assert len(server.requests) == 1, "a request was repeated"
            check_exchange(exchange)
            visit = Visit(asked, 1, "http://a.test/", 0, 1, "127.0.0.1", b"token")
            (parsed,) = parser.process(fingerprinted(Fetched(visit, exchange)))
            check_parsed(parsed)
            if exchange.response is not None:
                check_record(parsed, exchange.response)
                exchange.response.document.close()

        yield read


def check_exchange(exchange: Exchange) -> None:
    assert exchange.shortage is None, "what a server sends is never this machine's lack"
    response = exchange.response
    if response is None:
        assert exchange.trouble
        assert exchange.trouble.fault is not Fault.LOCAL, exchange.trouble
        return
    assert not exchange.trouble
    assert 200 <= response.status <= 999 or response.status < 100, response.status
    assert response.head.startswith(b"HTTP/")
    assert response.head.endswith(b"\r\n")
    assert b"\r\n\r\n" not in response.head
    assert response.document.size <= _MOST_BODY
    assert all(name == name.lower() for name in response.headers)


def check_parsed(parsed: Parsed) -> None:
    assert 0.0 <= parsed.retry_after_s <= MAX_RETRY_AFTER_S
    if parsed.redirect_to:
        assert url_of(parsed.redirect_to).text == parsed.redirect_to
    if parsed.page is not None:
        check_page(parsed.page, MAX_URLS)


def check_record(parsed: Parsed, response: Response) -> None:
    """Another program finds the same payload in the record, and the tables take the rows."""
    captures = captures_of(parsed, None)
    first, *_ = capture_records(captures[0], "archive/a.warc.gz", 0)
    record = next(ArchiveIterator(io.BytesIO(gzip.compress(b"".join(first), 1))))
    if response.status != 304 and not (parsed.page is not None and "noarchive" in parsed.page.robots):
        assert record.rec_type == "response"
        assert record.raw_stream.read() == response.document.read(), "another payload"
    work = Work()
    exchange = parsed.exchange
    work.visits.append(
        SettledVisit(
            *(parsed.visit, parsed.outcome, parsed.reason, exchange.started_s, exchange, parsed.page, parsed.digest),
            redirect_to=parsed.redirect_to,
            captures=captures,
        )
    )
    payload(rows(work, [_PLACE], UrlIds(), text=True, simhash=True))


def _lines(text: str) -> tuple[bytes, ...]:
    return tuple(f"{line}\r\n".encode() for line in text.split("|"))


TARGET: Final = Target(
    "http",
    on_loop(scene),
    (
        *_lines("HTTP/1.1 200 OK|HTTP/1.0 301 Moved|HTTP/1.1 100 Continue|HTTP/1.1 103 Early Hints|HTTP/2 200"),
        *_lines("HTTP/1.1 304 x|HTTP/1.1 503|Content-Length: 5|Transfer-Encoding: chunked|Connection: keep-alive"),
        *_lines("Transfer-Encoding: gzip, chunked|Trailer: X|Location: /next|Location: http://[|Retry-After: 120"),
        *_lines("Date: Sun, 06 Nov 1994 08:49:37 GMT|Content-Encoding: gzip, br|Content-Type: text/html; charset=x"),
        *_lines("X-Robots-Tag: noarchive|Set-Cookie: a=b|Upgrade: h2c|Content-Encoding: zstd|5|0|"),
        *(
            b"\r\n\r\n",
            b"\n\n",
            b"\n",
            b"\r",
            b" ",
            b"\t",
            b"\0",
            b"\x1f",
            b"\xa0",
            b"\x85",
            b"\xc2\xa0",
            b"5\r\nhello\r\n0\r\n\r\n",
            b"ffffffffffffffff\r\n",
        ),
        *(
            b":",
            b"HTTP/",
            b"HTTP/9.9",
            b"9" * 30,
            b"Content-Length: 18446744073709551617\r\n",
            b"a" * 70_000,
            b"<a href=x>",
            b" folded\r\n",
        ),
    ),
    most_bytes=1_000_000,
)
