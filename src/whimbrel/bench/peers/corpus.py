"""A corpus on disk: a folder per host, as any web server serves it. Pages are made up, or those of real manuals."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, Protocol
from uuid import NAMESPACE_URL, uuid5

import msgspec
from isal import igzip

from whimbrel.bench.peers.api import HTTP_PORT, Book, CorpusSpec
from whimbrel.bench.peers.documentation import LIST, book_files
from whimbrel.bench.peers.page import CorpusPageWriter, host_name, origin
from whimbrel.bench.peers.quote import QuoteWriter

SMALL_HOSTS: Final = 100
REALISTIC_PAGES: Final = 3
QUOTE_PAGES: Final = 50
ROBOTS: Final = b"User-agent: *\nDisallow: /cgi-bin/\nDisallow: /search\n"
BOOK_ROBOTS: Final = b"User-agent: *\nDisallow: /cgi-bin/\n"
"""Manuals have folders that are called `search`."""
# By hand: warcio's writer copies every payload to a temporary file that it leaves open.
_RECORD: Final = (
    "WARC/1.1\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:uuid:{id}>\r\nWARC-Target-URI: {url}\r\n"
    "WARC-Date: 2026-01-01T00:00:00Z\r\nContent-Type: application/http;msgtype=response\r\n"
    "Content-Length: {length}\r\n\r\n"
)
_VERSION: Final = 2
"""Counts the changes of what a specification means; a corpus of another version is made again."""


class Writer(Protocol):
    def path(self, page: int) -> str: ...

    def body(self, host: int, page: int) -> bytes: ...


def small(pages: int) -> CorpusSpec:
    """Small pages on few hosts over http."""
    hosts = min(SMALL_HOSTS, pages)
    return CorpusSpec(
        name="small",
        hosts=hosts,
        pages=max(1, pages // hosts),
        page_bytes=28_000,
        has_tail=False,
        links=47,
        neighbours=10,
        scheme="http",
        is_gzipped=False,
    )


def realistic(hosts: int) -> CorpusSpec:
    """Many https hosts with few pages of all sizes, 12 KB in the median and 27 KB on average."""
    return CorpusSpec(
        name="realistic",
        hosts=hosts,
        pages=REALISTIC_PAGES,
        page_bytes=12_000,
        has_tail=True,
        links=47,
        neighbours=20,
        scheme="https",
        is_gzipped=True,
    )


def quotes(pages: int) -> CorpusSpec:
    """Sites like the one of Scrapy's tutorial, to take quotes and authors out of."""
    return CorpusSpec(
        name="quotes",
        hosts=max(1, pages // QUOTE_PAGES),
        pages=QUOTE_PAGES,
        page_bytes=6_000,
        has_tail=False,
        links=0,
        neighbours=1,
        scheme="http",
        is_gzipped=False,
    )


class Corpus:
    """`folder` holds `sites`/HOST/PATH; compressed pages are there as PATH.gz only."""

    def __init__(self, spec: CorpusSpec, folder: Path) -> None:
        self.spec = spec
        self.folder = folder
        self.sites = folder / "sites"

    def prepare(self, say: Callable[[str], None]) -> None:
        """Write it, unless the folder holds the same one already."""
        mark = self.folder / "corpus.json"
        content = msgspec.json.encode((_VERSION, self.spec))
        if mark.exists() and mark.read_bytes() == content:
            return
        if self.folder.exists() and any(self.folder.iterdir()):
            mark.unlink(missing_ok=True)  # What is there is overwritten; half of it must not pass for the whole.
        say(f"writing {self.spec.all_pages:,} pages of {self.spec.hosts:,} hosts")
        for host, target, body in self.files():
            name = target.removeprefix("/") or "index.html"
            file = self.sites / host / (f"{name}.gz" if self.is_coded(target) else name)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(body)
        mark.write_bytes(content)

    def files(self) -> Iterator[tuple[str, str, bytes]]:
        """Host, request target and the bytes that are sent."""
        for book in self.spec.books:
            yield book.host, "/robots.txt", BOOK_ROBOTS
            for target, body in book_files(book):
                yield book.host, target, body
        if not self.spec.books:
            yield from self._made_up()

    def _made_up(self) -> Iterator[tuple[str, str, bytes]]:
        writer: Writer = QuoteWriter(self.spec.pages) if self.spec.name == "quotes" else CorpusPageWriter(self.spec)
        for number in range(self.spec.hosts):
            host = host_name(number)
            yield host, "/robots.txt", ROBOTS
            for page in range(self.spec.pages):
                body = writer.body(number, page)
                yield host, writer.path(page), igzip.compress(body, 2, mtime=0) if self.spec.is_gzipped else body

    def is_coded(self, target: str) -> bool:
        return self.spec.is_gzipped and target != "/robots.txt"

    def names(self) -> list[str]:
        return [book.host for book in self.spec.books] or [host_name(number) for number in range(self.spec.hosts)]

    def seeds(self, sample: int | None) -> list[str]:
        """The roots of all hosts, or of as many neighbourhoods as have about that many pages together."""
        spec = self.spec
        if spec.books:
            return [_book_seed(book) for book in _some_books(spec.books, sample)]
        hosts = spec.hosts
        if sample is not None:
            neighbourhoods = max(1, -(-sample // (spec.neighbours * spec.pages)))
            hosts = min(hosts, neighbourhoods * spec.neighbours)
        return [f"{origin(spec, number)}/" for number in range(hosts)]

    def pages_of(self, seeds: list[str]) -> int:
        """Those that a crawl of some of its seeds finds."""
        books = {_book_seed(book): book.pages for book in self.spec.books}
        return sum(books.get(seed, self.spec.pages) for seed in seeds)


def _book_seed(book: Book) -> str:
    return f"http://{book.host}:{HTTP_PORT}{LIST}"


def _some_books(books: tuple[Book, ...], sample: int | None) -> list[Book]:
    """All, or every generator's smallest books until there are about so many pages."""
    if sample is None:
        return list(books)
    ranks: dict[str, int] = {}
    ranked = []
    for book in sorted(books, key=lambda book: book.pages):
        ranks[book.generator] = ranks.get(book.generator, 0) + 1
        ranked.append((ranks[book.generator], book))
    found: list[Book] = []
    for _, book in sorted(ranked, key=lambda pair: (pair[0], pair[1].pages)):
        if sum(one.pages for one in found) >= sample:
            break
        found.append(book)
    return found


def write_warc(corpus: Corpus, path: Path) -> None:
    """A corpus as a WARC file, for a machine without nginx."""
    with path.open("wb") as file:
        for host, target, body in corpus.files():
            url = f"{corpus.spec.scheme}://{host}{target}"
            kind = "text/plain" if target == "/robots.txt" else "text/html"
            kind += "" if corpus.spec.books else "; charset=utf-8"
            coding = "Content-Encoding: gzip\r\n" if corpus.is_coded(target) else ""
            block = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\n{coding}\r\n".encode() + body
            head = _RECORD.format(id=uuid5(NAMESPACE_URL, url), url=url, length=len(block))
            file.write(head.encode() + block + b"\r\n\r\n")
