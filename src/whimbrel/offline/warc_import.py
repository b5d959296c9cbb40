"""A crawl's directory made from WARC files, whoever wrote them: all that works on a crawl works on them then.

Each response is read as if it had just been fetched, and kept in an archive of ours. What a crawl knows beside, depth
and source, comes from metadata records where there are any. Revisits have no payload of their own: a first pass notes
which payloads they mean, the second where those stand, and they are read from there. A resource is read as a page, too,
but stays a resource: there was no HTTP, and its status is 0. Conversions, metadata of their own, resources that are not
of http or https, and revisits of payloads that are nowhere go to the archive and make no rows. Records keep their ids,
so that what refers to them still does. Each commit says how many records it has taken, so that an import that was
interrupted goes on behind them.
"""

import asyncio
import hashlib
from base64 import b32decode
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Final

import msgspec

from whimbrel.archive.api import (
    Capture,
    ConversionCapture,
    MetadataCapture,
    Profile,
    Reference,
    ResourceCapture,
    ResponseCapture,
    RevisitCapture,
)
from whimbrel.clock import SystemClock
from whimbrel.commit.committed import IMPORT_LIST, NotACrawl, read_committed
from whimbrel.commit.journal import Journal, JournalConfig
from whimbrel.commit.work import SettledVisit
from whimbrel.dedupe.api import Earlier, Fingerprinted
from whimbrel.dedupe.rocks import RocksContent
from whimbrel.effect.capture import captures_of
from whimbrel.effect.counting import Counting
from whimbrel.effect.effects import decide_document
from whimbrel.error import WhimbrelError
from whimbrel.fetch.api import Exchange, Fetched, Response
from whimbrel.fetch.document import MemoryDocument
from whimbrel.fetch.head import read_head
from whimbrel.job.crawl import CrawlError, check_empty
from whimbrel.offline.foreign_warc import ForeignRecord, Unreadable, WarcPosition, meant, record_at, records
from whimbrel.outcome import Outcome
from whimbrel.parse.api import Parsed
from whimbrel.parse.parser import Parser, ParserConfig
from whimbrel.state.rocks import RocksConfig, RocksState
from whimbrel.visit import Request, Visit, VisitResult

_YIELD_EVERY: Final = 16
_BEHIND_S: Final = 0.005
_SHA1_CHARS: Final = 32
_CONTENT: Final = (Outcome.STORED, Outcome.DUPLICATE)


class ImportFailed(WhimbrelError):
    """A file that cannot be read; the message names it."""


class Imported(msgspec.Struct):
    """How much was taken over, by all runs of one import."""

    files: int = 0
    captures: int = 0
    pages: int = 0
    passed_over: int = 0
    """Responses and revisits that are not from http or https, or have no head."""


class _Listed(msgspec.Struct, frozen=True):
    file: str
    bytes: int


def import_warcs(files: list[Path], directory: Path, show: Callable[[Imported], None] = lambda _: None) -> Imported:
    """Into a directory that is empty or not there, or where an import of the same files was interrupted. ImportFailed
    for a file that is no WARC; CrawlError when something is in the way."""
    for file in files:
        if not file.is_file():
            raise ImportFailed(f"{file} is not a file")
    listed = [_Listed(str(file.resolve()), file.stat().st_size) for file in files]
    begun = directory / IMPORT_LIST
    if begun.exists():
        _check_same(listed, directory)
    else:
        check_empty(directory)
    try:
        importing = _Import(directory, meant(files), show)
        directory.mkdir(parents=True, exist_ok=True)
        begun.write_bytes(msgspec.json.encode(listed))
        return asyncio.run(importing.run(files))
    except Unreadable as error:
        raise ImportFailed(str(error)) from error


def _check_same(listed: list[_Listed], directory: Path) -> None:
    """CrawlError unless what was begun there is this, and not at its end."""
    try:
        if read_committed(directory).state == "done":
            raise CrawlError(f"{directory} holds an import that is done; choose another with --into")
    except NotACrawl:
        pass  # It was interrupted before its first commit.
    if (directory / IMPORT_LIST).read_bytes() != msgspec.json.encode(listed):
        raise CrawlError(
            f"an import of other files was begun in {directory}, see {IMPORT_LIST}; name the same ones in the same "
            "order, or choose another directory with --into"
        )


class _Import:
    def __init__(self, directory: Path, meant: set[str], show: Callable[[Imported], None]) -> None:
        self._directory, self._meant, self._show = directory, meant, show
        self._places: dict[str, WarcPosition] = {}
        """Of responses that revisits mean, by digest."""
        self._found = Imported()
        self._behind = 0
        """Records that an earlier run has taken."""

    async def run(self, files: list[Path]) -> Imported:
        state = RocksState(RocksConfig(directory=str(self._directory)))
        self._journal = Journal(JournalConfig(directory=str(self._directory), reserve_bytes=0))
        self._content, self._parser = RocksContent(), Parser(ParserConfig())
        for part, name, other in (
            (self._journal, "state", state), (self._journal, "clock", SystemClock()), (self._content, "state", state),
            (self._parser, "clock", SystemClock()),
        ):  # fmt: skip
            part.bind(name, other)
        async with AsyncExitStack() as opened:
            await state.open()
            opened.push_async_callback(state.close)
            await self._journal.open()
            opened.push_async_callback(self._journal.close)
            await self._content.open()
            await self._parser.open()
            self._go_on()
            action = "resumed" if self._journal.resumed else "started"
            self._journal.add_event("import", action, " ".join(file.name for file in files))
            for file in files:
                await self._take_file(file)
            await self._journal.conclude("done", "import")
        return self._found

    def _go_on(self) -> None:
        """What earlier runs have counted; nothing at the beginning."""
        counters = self._journal.counters
        self._counting = Counting(counters)
        self._found.captures, self._found.passed_over = counters.visits + counters.unvisited, counters.passed_over
        self._found.pages = sum(counters.outcomes.get(one.value, 0) for one in _CONTENT)
        self._behind = self._found.captures + self._found.passed_over

    async def _take_file(self, file: Path) -> None:
        for number, record in enumerate(records(file)):
            if record is not None and record.payload is not None and record.digest in self._meant:
                self._places.setdefault(record.digest, record.position)
            if self._behind:
                self._behind -= 1
            else:
                self._take(record)
            if number % _YIELD_EVERY == 0:
                await asyncio.sleep(0)
                self._show(self._found)
            while self._journal.behind:  # noqa: ASYNC110 - it calls back for troubles, too, and this is rare
                await asyncio.sleep(_BEHIND_S)
        self._found.files += 1

    def _take(self, record: ForeignRecord | None) -> None:
        counters = self._journal.counters
        if record is None:
            self._found.passed_over += 1
            counters.passed_over += 1
            return
        self._found.captures += 1
        fetched = self._fetched(record)
        if fetched is None:
            self._journal.add_capture(_capture(record))
            counters.unvisited += 1
            return
        parsed = self._parser.process(self._fingerprinted(fetched))[0]
        outcome, reason, earlier = decide_document(parsed, self._content)
        settled = SettledVisit(
            parsed.visit,
            outcome,
            reason,
            parsed.exchange.started_s,
            parsed.exchange,
            parsed.page,
            parsed.digest,
            earlier,
            parsed.redirect_to,
            parsed.handled,
            tuple(_captures(record, parsed, earlier)),
            via="import",
        )
        self._journal.add(settled)
        response = fetched.exchange.response
        self._counting.count_visit(settled, VisitResult(bytes=0 if response is None else response.document.size))
        self._found.pages += outcome in _CONTENT

    def _fetched(self, record: ForeignRecord) -> Fetched | None:
        """A record as a visit; None for one that was none, or whose payload is nowhere."""
        response = None if record.url is None else self._response(record)
        if record.url is None or response is None:
            return None
        exchange = Exchange(
            response=response,
            trouble="",
            connected=True,
            address=record.address,
            request_head=record.request_head,
            started_s=record.at_s,
            elapsed_s=record.elapsed_s,
        )
        return Fetched(Visit(Request(record.url), record.depth, record.source, 0, 1, record.address, b""), exchange)

    def _response(self, record: ForeignRecord) -> Response | None:
        if record.kind == "resource":
            return Response(0, b"", "", {"content-type": record.content_type}, MemoryDocument(record.payload or b""))
        if record.kind not in ("response", "revisit"):
            return None
        head, payload = record.head, b"" if record.not_modified else record.payload
        if payload is None:
            position = self._places.get(record.digest)
            earlier = None if position is None else record_at(position)
            if earlier is None or earlier.payload is None:
                return None
            head, payload = head or earlier.head, earlier.payload
        found = read_head([line + b"\r\n" for line in head.rstrip(b"\r\n").split(b"\r\n")] + [b"\r\n"])
        if found is None:
            return None
        status, plain, version, headers = found
        return Response(status, plain, version, headers, MemoryDocument(payload), record.truncated)

    def _fingerprinted(self, fetched: Fetched) -> Fingerprinted:
        response = fetched.exchange.response
        if response is None:
            return Fingerprinted(fetched.visit, fetched.exchange, b"")
        digest = hashlib.sha1(response.document.read(), usedforsecurity=False).digest()
        found: list[Earlier | None] = [None]
        if response.has_document:
            self._content.find(digest, found.append)
        return Fingerprinted(fetched.visit, fetched.exchange, digest, found[-1])


def _captures(record: ForeignRecord, parsed: Parsed, earlier: Earlier | None) -> Iterator[Capture]:
    """As a crawl would keep it, but of the same kind, with the same id, and with the fields that stood beside it."""
    if record.kind == "resource":
        yield _capture(record)
        return
    for capture in captures_of(parsed, earlier):
        if isinstance(capture, ResponseCapture):
            yield msgspec.structs.replace(capture, metadata=record.metadata, record_id=record.record_id)
        elif isinstance(capture, RevisitCapture):
            refers_to = _refers_to(record, capture)
            yield msgspec.structs.replace(
                capture, refers_to=refers_to, metadata=record.metadata, record_id=record.record_id
            )


def _refers_to(record: ForeignRecord, capture: RevisitCapture) -> Reference | None:
    """What a revisit says itself, unless its payload was found at another URL."""
    said, known = record.refers_to, capture.refers_to
    return known if said is None or (known is not None and known.url != said.url) else said


def _capture(record: ForeignRecord) -> Capture:
    """A record as it stands."""
    if record.kind == "revisit":
        profile: Profile = "server-not-modified" if record.not_modified else "identical-payload-digest"
        return RevisitCapture(
            *(record.target, record.at_s, record.address, "", record.request_head, record.head),
            *(profile, record.refers_to, _sha1(record.digest), "", record.metadata, record.record_id),
        )
    data = record.payload or b""
    payload, digest = MemoryDocument(data), hashlib.sha1(data, usedforsecurity=False).digest()
    if record.kind == "response":
        return ResponseCapture(
            *(record.target, record.at_s, record.address, "", record.request_head, record.head),
            *(payload, digest, record.truncated, record.metadata, record.record_id),
        )
    name, truncated = record.record_id, record.truncated
    if record.kind == "resource":
        return ResourceCapture(
            *(record.target, record.at_s, record.content_type, payload, digest),
            *(record.address, truncated, record.metadata, name),
        )
    if record.kind == "conversion":
        content_type, refers_to = record.content_type, record.refers_to
        return ConversionCapture(record.target, record.at_s, content_type, payload, digest, refers_to, truncated, name)
    common = (record.target, record.at_s, payload, digest, record.content_type)
    return MetadataCapture(*common, record.refers_to, truncated, name)


def _sha1(text: str) -> bytes:
    """A digest as records name it; empty for one of another kind."""
    name, _, value = text.partition(":")
    try:
        return b32decode(value) if name.lower() == "sha1" and len(value) == _SHA1_CHARS else b""
    except ValueError:
        return b""
