"""Answers of the simulated web as the downloader hands them on, and a parser to settle them."""

import asyncio
from dataclasses import dataclass
from hashlib import sha1

from whimbrel import visit as messages
from whimbrel.clock import SystemClock
from whimbrel.dedupe.api import Fingerprinted, FirstCapture
from whimbrel.fetch.api import Exchange, Fetched, Response
from whimbrel.fetch.trouble import Trouble
from whimbrel.parse.api import Parsed, ParsedPage
from whimbrel.parse.parser import Parser, ParserConfig
from whimbrel.simweb.answer import Reply, SimRequest
from whimbrel.simweb.exhibit.api import Finding
from whimbrel.simweb.spec import WebSpec
from whimbrel.simweb.web import Web
from whimbrel.url import Url, parse
from whimbrel.visit import Visit

FETCHED_AT_S = 1_770_000_000.0


@dataclass(frozen=True)
class Memory:
    """A body in memory."""

    body: bytes

    @property
    def size(self) -> int:
        return len(self.body)

    def read(self) -> bytes:
        return self.body

    def close(self) -> None:
        pass


def url_of(text: str) -> Url:
    found = parse(text)
    assert found is not None
    return found


def response(status: int = 200, body: bytes = b"", truncated: str = "", **headers: str) -> Response:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Response(status, b"", "1.1", named, Memory(body), truncated)


def fetched(
    answer: Response | None,
    url: str = "http://a.test/dir/page",
    trouble: str = "",
    attempt: int = 1,
    redirects: int = 0,
    refusal: str = "",
) -> Fetched:
    visit = Visit(
        messages.Request(url_of(url)), 3, "", redirects, attempt, "" if refusal else "127.0.0.1", b"token", refusal
    )
    return Fetched(
        visit,
        Exchange(answer, next(one for one in Trouble if one == trouble), True, "127.0.0.1", b"", FETCHED_AT_S, 1.0),
    )


def fingerprinted(visit: Fetched, duplicate_of: str = "") -> Fingerprinted:
    answer = visit.exchange.response
    digest = sha1(answer.document.read(), usedforsecurity=False).digest() if answer is not None else b""
    return Fingerprinted(visit.visit, visit.exchange, digest, FirstCapture(duplicate_of, 5.0) if duplicate_of else None)


def parser(config: ParserConfig | None = None, kind: type[Parser] = Parser) -> Parser:
    made = kind(config)
    made.bind("clock", SystemClock())
    asyncio.run(made.open())
    return made


def settle(
    visit: Fetched, duplicate_of: str = "", config: ParserConfig | None = None, kind: type[Parser] = Parser
) -> Parsed:
    (found,) = parser(config, kind).process(fingerprinted(visit, duplicate_of))
    return found


def page_of(body: bytes, config: ParserConfig | None = None, kind: type[Parser] = Parser, **headers: str) -> ParsedPage:
    """What the parser reads out of an HTML document, or of what `content_type` says."""
    headers.setdefault("content_type", "text/html")
    page = settle(fetched(response(200, body, **headers)), config=config, kind=kind).page
    assert page is not None
    return page


def targets(page: ParsedPage, *kinds: str) -> list[str]:
    return [link.target for link in page.links if not kinds or link.kind in kinds]


WEB = Web(WebSpec(hosts=4))


def ask(target: str, attempt: int = 1) -> tuple[Fetched, Finding | None]:
    """Ask the first host of a simulated web: the visit, and what a correct crawl makes of it if it is an exhibit."""
    host = WEB.hosts.get(0)
    answer = WEB.respond(host, SimRequest("GET", host.name, target, attempt=attempt, received_s=FETCHED_AT_S), 0.0)
    assert isinstance(answer, Reply)
    headers: dict[str, str] = {}
    for name, value in answer.headers:
        known = headers.get(name.lower())
        headers[name.lower()] = value if known is None else f"{known}, {value}"
    got = Response(answer.status, b"", "1.1", headers, Memory(answer.body))
    found = WEB.exhibit(host, target)
    return fetched(got, host.origin + target, attempt=attempt), found[0].judge(found[1]) if found else None
