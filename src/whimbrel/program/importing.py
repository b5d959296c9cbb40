"""A crawl's directory made from WARC files, whoever wrote them: all that works on a crawl works on them then.

Each response is read as if it had just been fetched, and kept in an archive of ours. What a crawl knows beside, depth
and source, comes from metadata records where there are any. Revisits have no payload of their own, so that a first pass
notes which payloads they mean.
"""

import asyncio
import base64
import hashlib
import io
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from whimbrel.clock import SystemClock
from whimbrel.commit.journal import Journal, JournalConfig
from whimbrel.commit.settlement import capture_of
from whimbrel.commit.work import Kept
from whimbrel.dedupe.dedupe import Dedupe
from whimbrel.dedupe.rocks import RocksContent
from whimbrel.fetch.api import Exchange, Fetched, Response
from whimbrel.fetch.document import MemoryDocument
from whimbrel.fetch.head import read_head
from whimbrel.job.crawl import check_empty
from whimbrel.outcome import Outcome
from whimbrel.parse.api import Parsed
from whimbrel.parse.parser import Parser, ParserConfig
from whimbrel.state.rocks import RocksConfig, RocksState
from whimbrel.url import Url, parse
from whimbrel.visit import Visit

if TYPE_CHECKING:
    from warcio.recordloader import ArcWarcRecord

_YIELD_EVERY: Final = 16
_BEHIND_S: Final = 0.005
_MOST_BYTES: Final = 1 << 30


class ImportFailed(Exception):
    """A file that cannot be read; the message names it."""


class Imported(msgspec.Struct):
    """How much was taken over."""

    files: int = 0
    captures: int = 0
    pages: int = 0
    passed_over: int = 0
    """Records of responses that are not from http or https, or have no head, or mean a payload that is nowhere."""


class _Record(msgspec.Struct):
    """A response or revisit, with what stands beside it."""

    name: str
    url: Url
    at_s: float
    address: str
    head: bytes
    payload: bytes | None
    """None of a revisit."""
    digest: str
    request_head: bytes = b""
    depth: int = 0
    source: str = ""
    elapsed_s: float = 0.0


def import_warcs(files: list[Path], directory: Path, show: Callable[[Imported], None] = lambda _: None) -> Imported:
    """Into a directory that is empty or not there. ImportFailed for a file that is no WARC; CrawlError when something
    is in the way."""
    check_empty(directory)
    for file in files:
        if not file.is_file():
            raise ImportFailed(f"{file} is not a file")
    meant = _meant(files)
    directory.mkdir(parents=True, exist_ok=True)
    return asyncio.run(_Import(directory, meant, show).run(files))


class _Import:
    def __init__(self, directory: Path, meant: set[str], show: Callable[[Imported], None]) -> None:
        self._directory, self._meant, self._show = directory, meant, show
        self._payloads: dict[str, tuple[bytes, bytes]] = {}
        """Of responses that revisits mean: head and payload, by digest."""
        self._found = Imported()

    async def run(self, files: list[Path]) -> Imported:
        state = RocksState(RocksConfig(directory=str(self._directory)))
        self._journal = Journal(JournalConfig(directory=str(self._directory), reserve_bytes=0))
        self._content, self._dedupe, self._parser = RocksContent(), Dedupe(), Parser(ParserConfig(max_tries=1))
        for part, name, other in (
            (self._journal, "state", state), (self._journal, "clock", SystemClock()), (self._content, "state", state),
            (self._dedupe, "content", self._content), (self._parser, "clock", SystemClock()),
        ):  # fmt: skip
            part.bind(name, other)
        await state.open()
        try:
            for part in (self._journal, self._content, self._parser):
                await part.open()
            self._journal.add_event("import", "started", " ".join(file.name for file in files))
            for file in files:
                await self._take_file(file)
            await self._journal.conclude("done", "import")
        finally:
            await self._journal.close()
            await state.close()
        return self._found

    async def _take_file(self, file: Path) -> None:
        for number, record in enumerate(_records(file)):
            self._take(record)
            if number % _YIELD_EVERY == 0:
                await asyncio.sleep(0)
                self._show(self._found)
            while self._journal.behind:  # noqa: ASYNC110 - it calls back for troubles, too, and this is rare
                await asyncio.sleep(_BEHIND_S)
        self._found.files += 1

    def _take(self, record: _Record | None) -> None:
        fetched = None if record is None else self._fetched(record)
        if fetched is None:
            self._found.passed_over += 1
            return
        parsed = self._judged(self._parser.process(self._dedupe.process(fetched)[0])[0])
        self._journal.add(Kept(parsed, capture_of(parsed)))
        counters = self._journal.counters
        response = fetched.exchange.response
        counters["visits"] += 1
        counters["bytes"] += 0 if response is None else response.document.size
        counters[f"outcome {parsed.outcome.value}"] += 1
        counters[f"reason {parsed.outcome.value} {parsed.reason}"] += 1
        self._found.captures += 1
        self._found.pages += parsed.outcome in (Outcome.STORED, Outcome.DUPLICATE)

    def _fetched(self, record: _Record) -> Fetched | None:
        head, payload = record.head, record.payload
        if payload is None:
            earlier = self._payloads.get(record.digest)
            if earlier is None:
                return None
            head, payload = head or earlier[0], earlier[1]
        elif record.digest in self._meant:
            self._payloads.setdefault(record.digest, (head, payload))
        found = read_head([line + b"\r\n" for line in head.rstrip(b"\r\n").split(b"\r\n")] + [b"\r\n"])
        if found is None:
            return None
        status, plain, version, headers = found
        response = Response(status, plain, version, headers, MemoryDocument(payload))
        exchange = Exchange(
            response=response,
            trouble="",
            connected=True,
            address=record.address,
            request_head=record.request_head,
            started_s=record.at_s,
            elapsed_s=record.elapsed_s,
        )
        return Fetched(Visit(record.url, record.depth, record.source, 0, 1, record.address, b""), exchange)

    def _judged(self, parsed: Parsed) -> Parsed:
        """Claim a new payload, as a crawl does."""
        if parsed.outcome is Outcome.STORED and parsed.claims:
            self._content.claim(parsed.digest, parsed.fetched.visit.url.text, parsed.fetched.exchange.started_s)
        return parsed


def _meant(files: list[Path]) -> set[str]:
    """The digests that revisits name."""
    found: set[str] = set()
    for file in files:
        for record in _iterated(file):
            if record.rec_type == "revisit":
                found.add(_digest(record))
    return found


def _records(file: Path) -> Iterator[_Record | None]:
    """Responses and revisits, each with the request and the metadata that name it; None for one to be passed over."""
    last: _Record | None = None
    for record in _iterated(file):
        kind = record.rec_type
        if kind in ("response", "revisit", "resource"):
            if last is not None:
                yield last
            last = _answer(record)
            if last is None:
                yield None
        elif last is not None and _header(record, "WARC-Concurrent-To") == last.name:
            _add_beside(last, record)
    if last is not None:
        yield last


def _answer(record: "ArcWarcRecord") -> _Record | None:
    url = parse(_header(record, "WARC-Target-URI").strip("<>"))
    if url is None or (record.http_headers is None and record.rec_type != "resource"):
        return None
    body = record.raw_stream.read(_MOST_BYTES)
    if record.http_headers is None:
        head = f"HTTP/1.1 200 OK\r\nContent-Type: {_header(record, 'Content-Type')}\r\n".encode()
    else:
        if (record.http_headers.get_header("Transfer-Encoding") or "").lower() == "chunked":
            body = _without_chunks(body)
        head = _head(record.http_headers)
    return _Record(
        _header(record, "WARC-Record-ID"),
        url,
        _time_s(_header(record, "WARC-Date")),
        _header(record, "WARC-IP-Address"),
        head,
        None if record.rec_type == "revisit" else body,
        _digest(record) or "sha1:" + base64.b32encode(hashlib.sha1(body).digest()).decode(),  # noqa: S324
    )


def _add_beside(last: _Record, record: "ArcWarcRecord") -> None:
    if record.rec_type == "request" and record.http_headers is not None:
        last.request_head = _head(record.http_headers)
    elif record.rec_type == "metadata":
        fields = dict(
            line.split(": ", 1)
            for line in record.raw_stream.read().decode(errors="replace").splitlines()
            if ": " in line
        )
        last.source = fields.get("via", "")
        with suppress(ValueError):
            # Heritrix writes letters, one for each hop.
            hops = fields.get("hopsFromSeed", "0")
            last.depth = int(hops) if hops.isdigit() else len(hops)
        with suppress(ValueError):
            last.elapsed_s = int(fields.get("fetchTimeMs", "0")) / 1000


def _iterated(file: Path) -> "Iterator[ArcWarcRecord]":
    from warcio.archiveiterator import ArchiveIterator
    from warcio.exceptions import ArchiveLoadFailed

    try:
        with file.open("rb") as stream:
            yield from ArchiveIterator(stream)
    except (ArchiveLoadFailed, EOFError, OSError) as error:
        raise ImportFailed(f"{file}: {error}") from error


def _head(headers: Any) -> bytes:
    lines = [
        f"{headers.protocol} {headers.statusline}".strip(),
        *(f"{name}: {value}" for name, value in headers.headers),
    ]
    return "".join(f"{line}\r\n" for line in lines).encode("utf-8", "replace")


def _header(record: "ArcWarcRecord", name: str) -> str:
    return record.rec_headers.get_header(name) or ""


def _digest(record: "ArcWarcRecord") -> str:
    return _header(record, "WARC-Payload-Digest")


def _without_chunks(body: bytes) -> bytes:
    from warcio.bufferedreaders import ChunkedDataReader

    reader, parts = ChunkedDataReader(io.BytesIO(body)), []
    while piece := reader.read(1 << 20):
        parts.append(piece)
    return b"".join(parts)


def _time_s(text: str) -> float:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return 0.0
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
