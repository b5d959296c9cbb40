"""What curl can see of an exhibit: the vocabulary in which `test_page_exhibits` says what each one does."""

import io
import zlib
from collections.abc import Callable, Iterator
from email.utils import parsedate_to_datetime
from html.parser import HTMLParser
from urllib.parse import urljoin

import brotli
import pytest
import zstandard
from selectolax.lexbor import LexborHTMLParser

from tests.simweb.conftest import Seen, Served

Check = Callable[[Served, str, str], None]
"""Takes the web, the exhibit's name and its URL."""

MB = 1024 * 1024
# Exit codes of curl.
WEIRD_REPLY, CUT, TOO_LONG, TIMEOUT, TOO_MANY_REDIRECTS, EMPTY, RESET = 8, 18, 27, 28, 47, 52, 56
BRIEFLY = ("-m", "1.5")


class Links(HTMLParser):
    """The targets of a page's links, as written."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.hrefs: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.hrefs += [value or "" for name, value in attrs if tag == "a" and name == "href"]


def links(seen: Seen) -> list[str]:
    return Links(seen.body.decode()).hrefs


def found(name: str) -> str:
    """The leaf that an exhibit links to."""
    return f"/x/found/0?from={name}"


def marker(name: str) -> bytes:
    """What the page of an exhibit, and no other, says."""
    return f"<p>This is {name} 0".encode()


def page(*options: str, headers: dict[str, str | None] | None = None) -> Check:
    """A whole page of the exhibit, with these headers (None: without them)."""

    def check(web: Served, name: str, url: str) -> None:
        seen = web.curl(url, *options)
        assert (seen.exit_code, seen.status) == (0, 200)
        assert marker(name) in seen.body
        assert seen.body.endswith(b"</html>\n")
        for header, value in (headers or {}).items():
            assert seen.header(header) == value

    return check


def exits(code: int, *options: str, status: int = 0, received: range = range(1)) -> Check:
    """curl fails, after that many bytes of body."""

    def check(web: Served, name: str, url: str) -> None:
        seen = web.curl(url, *options)
        assert (seen.exit_code, seen.status) == (code, status)
        assert len(seen.body) in received

    return check


def status(code: int) -> Check:
    def check(web: Served, name: str, url: str) -> None:
        seen = web.curl(url)
        assert (seen.exit_code, seen.status) == (0, code)
        assert marker(name) in seen.body

    return check


def retry_after(code: int, *, as_date: bool) -> Check:
    def check(web: Served, name: str, url: str) -> None:
        seen = web.curl(url)
        value = seen.header("Retry-After") or ""
        assert seen.status == code
        if as_date:
            # Dates have whole seconds, and the server has a clock of its own.
            shown_s = parsedate_to_datetime(seen.header("Date") or "").timestamp()
            assert shown_s + 1 <= parsedate_to_datetime(value).timestamp() <= shown_s + 2
        else:
            assert value == "2"

    return check


def recovers(*statuses: int) -> Check:
    def check(web: Served, name: str, url: str) -> None:
        seen = [web.curl(url) for _ in range(len(statuses) + 1)]
        assert [one.status for one in seen] == [*statuses, 200]
        assert seen[0].header("Retry-After") == ("2" if statuses[0] == 429 else None)
        assert links(seen[-1]) == [found(name)]

    return check


def redirects(code: int, location: str | None = None) -> Check:
    """To `location`; where that is None, to the leaf, which can be fetched."""

    def check(web: Served, name: str, url: str) -> None:
        seen = web.curl(url)
        assert (seen.exit_code, seen.status) == (0, code)
        assert seen.header("Location") == (found(name) if location is None else location)
        if location is None:
            assert web.curl(urljoin(url, found(name))).status == 200

    return check


def chain(length: int) -> Check:
    def check(web: Served, name: str, url: str) -> None:
        whole = web.curl(url, "-L")
        assert (whole.status, whole.transfers[0].redirects) == (200, length)
        assert web.curl(url, "-L", "--max-redirs", str(length - 1)).exit_code == TOO_MANY_REDIRECTS

    return check


def endless_redirects(*path: str) -> Check:
    def check(web: Served, name: str, url: str) -> None:
        steps = [web.curl(urljoin(url, step)).header("Location") for step in path]
        assert steps == [*path[1:], path[0]]
        assert web.curl(url, "-L", "--max-redirs", "30").exit_code == TOO_MANY_REDIRECTS

    return check


def coded(label: str, decode: Callable[[bytes], bytes]) -> Check:
    """The coding is sent although the client did not ask for it."""

    def check(web: Served, name: str, url: str) -> None:
        seen = web.curl(url)
        assert seen.header("Content-Encoding") == label
        assert decode(seen.body).endswith(b"</html>\n")
        assert marker(name) in decode(seen.body)

    return check


def bomb(pieces: Callable[[bytes], Iterator[int]]) -> Check:
    def check(web: Served, name: str, url: str) -> None:
        seen = web.curl(url, "-m", "20")
        assert seen.header("Content-Encoding") == name.removeprefix("bomb-")
        assert len(seen.body) < 300_000
        assert sum(pieces(seen.body)) == 256 * MB

    return check


def inflated(body: bytes) -> Iterator[int]:
    inflater = zlib.decompressobj(wbits=47)
    while not inflater.eof:
        yield len(inflater.decompress(body, MB))
        body = inflater.unconsumed_tail


def unbrotlied(body: bytes) -> Iterator[int]:
    decoder = brotli.Decompressor()
    for at in range(len(body)):
        yield len(decoder.process(body[at : at + 1]))
    assert decoder.is_finished()


def unzstded(body: bytes) -> Iterator[int]:
    with zstandard.ZstdDecompressor().stream_reader(io.BytesIO(body)) as reader:
        while piece := reader.read(MB):
            yield len(piece)


def charset(content_type: str, encoding: str, *, begins: bytes = b"", has: str = "<head>") -> Check:
    def check(web: Served, name: str, url: str) -> None:
        seen = web.curl(url)
        assert seen.header("Content-Type") == content_type
        assert seen.body.startswith(begins)
        text = seen.body.decode(encoding)
        assert "café, naïve, Ærøskøbing" in text
        assert has in text
        if encoding != "utf-8":
            with pytest.raises(UnicodeDecodeError):
                seen.body.decode("utf-8")

    return check


def soup(*said: tuple[bytes, int]) -> Check:
    """Bad HTML that holds each of these so often; a parser as browsers have it finds one link in it."""

    def check(web: Served, name: str, url: str) -> None:
        seen = web.curl(url)
        assert (seen.exit_code, seen.status) == (0, 200)
        assert [(piece, seen.body.count(piece)) for piece, _ in said] == list(said)
        hrefs = [link.attributes.get("href") for link in LexborHTMLParser(seen.body).css("a[href]")]
        assert hrefs == [found(name)]

    return check


def says_robots(*header: str, meta: str = "") -> Check:
    def check(web: Served, name: str, url: str) -> None:
        seen = web.curl(url)
        assert seen.all("X-Robots-Tag") == list(header)
        assert seen.body.count(b"<meta") == (1 if meta else 0)
        assert meta.encode() in seen.body
        assert links(seen) == [found(name)]

    return check


def leads_to(*steps: str) -> Check:
    """From page to page; the last step only has to be linked to. All of them are different pages."""

    def check(web: Served, name: str, url: str) -> None:
        bodies = []
        for step in steps:
            seen = web.curl(url)
            assert links(seen) == [step]
            bodies.append(seen.body)
            url = urljoin(url, step)
        assert len(set(bodies)) == len(steps)

    return check


def nothing(code: int) -> Check:
    def check(web: Served, name: str, url: str) -> None:
        seen = web.curl(url)
        assert (seen.exit_code, seen.status, seen.body) == (0, code, b"")

    return check
