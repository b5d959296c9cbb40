"""Reads the records of WARC files in order, each as a visit would have brought it."""

import asyncio
from pathlib import Path
from typing import Final

from whimbrel.commit.counters import Counters
from whimbrel.commit.journal import Journal
from whimbrel.dedupe.api import FirstCapture
from whimbrel.fetch.api import Exchange, Fetched, Response
from whimbrel.fetch.body import MemoryDocument
from whimbrel.fetch.head import read_head
from whimbrel.fetch.trouble import Trouble
from whimbrel.flow import Async, Config, Needs, Out
from whimbrel.offline.foreign_warc import ForeignRecord, WarcPosition, record_at, records
from whimbrel.offline.record_capture import record_capture
from whimbrel.visit import Request, Visit

ACTOR: Final = "import"
_YIELD_EVERY: Final = 16


class ImportedExchange(Exchange, frozen=True, gc=False, kw_only=True):
    """An exchange that another program made, as its record tells of it."""

    record: ForeignRecord
    original: FirstCapture | None = None
    """The capture whose payload a revisit repeats; None where that is no document of http or https."""


class WarcReaderConfig(Config, frozen=True):
    files: tuple[str, ...] = ()
    """WARC files, in order."""
    referenced: frozenset[str] = frozenset()
    """Digests of the payloads that revisits in them refer to."""


class WarcReader(Async):
    """Hands on what was a visit; what was none goes to the journal. Each commit says how many records it has taken,
    whatever became of them, so that an import that was interrupted goes on behind those: a record counts only when all
    before it do.

    At the end of the last file it concludes the import, when all it has handed on is settled.
    """

    Config = WarcReaderConfig
    fetched = Out(Fetched)
    journal = Needs(Journal)

    async def open(self) -> None:
        self._positions: dict[str, WarcPosition] = {}
        """Of payloads that revisits refer to, by digest."""
        self._visits = self.journal.counters.visits
        """Settled when everything that was handed on is."""

    async def run(self) -> None:
        files = [Path(file) for file in self.config.files]
        journal = self.journal
        journal.listen(self.activity.set)
        action = "resumed" if journal.resumed else "started"
        journal.seeded = True  # What is imported is all that there is to begin with.
        journal.add_event(ACTOR, action, " ".join(file.name for file in files))
        await self._note_positions(files)
        left = records_taken(journal.counters)
        for file in files:
            for number, record in enumerate(records(file)):
                if left:
                    left -= 1
                else:
                    await self._take(record)
                if number % _YIELD_EVERY == 0:
                    await asyncio.sleep(0)
                if self.draining:
                    return
        if await self._all_settled():
            await journal.conclude("done", ACTOR)

    async def _note_positions(self, files: list[Path]) -> None:
        """A revisit may come before the record that it refers to. Files without revisits are not read again."""
        for file in files if self.config.referenced else []:
            for number, record in enumerate(records(file)):
                if record is not None and record.payload is not None and record.digest in self.config.referenced:
                    self._positions.setdefault(record.digest, record.position)
                if number % _YIELD_EVERY == 0:
                    await asyncio.sleep(0)
                if self.draining:
                    return

    async def _take(self, record: ForeignRecord | None) -> None:
        while self.journal.behind and not self.draining:
            await self.woken()
        fetched = None if record is None else self._fetched(record)
        if fetched is not None:
            self._visits += 1
            await self.fetched.put(fetched)
        elif await self._all_settled():
            self._take_unvisited(record)

    async def _all_settled(self) -> bool:
        """Wait for the visits that were handed on; false when the job is ended before."""
        while self.journal.counters.visits < self._visits and not self.draining:
            await self.woken()  # A consumer that acknowledges an item makes room.
        return self.journal.counters.visits == self._visits

    def _take_unvisited(self, record: ForeignRecord | None) -> None:
        counters = self.journal.counters
        if record is None:
            counters.passed_over += 1
        else:
            self.journal.add_capture(record_capture(record))
            counters.unvisited += 1

    def _fetched(self, record: ForeignRecord) -> Fetched | None:
        """A record as a visit; None for one that was none, or whose payload is nowhere."""
        original = self._original(record)
        response = None if record.url is None else self._response(record, original)
        if record.url is None or response is None:
            return None
        exchange = ImportedExchange(
            response=response,
            trouble=Trouble.NONE,
            connected=True,
            address=record.address,
            request_head=record.request_head,
            started_s=record.at_s,
            elapsed_s=record.elapsed_s,
            record=record,
            original=None if original is None else self._capture_of(original),
        )
        # Without a token: no frontier has let it out.
        return Fetched(Visit(Request(record.url), record.depth, record.source, 0, 1, record.address, b""), exchange)

    def _original(self, record: ForeignRecord) -> ForeignRecord | None:
        """The record whose payload a revisit repeats."""
        if record.kind != "revisit" or record.not_modified:
            return None
        position = self._positions.get(record.digest)
        return None if position is None else record_at(position)

    def _capture_of(self, original: ForeignRecord) -> FirstCapture | None:
        response = None if original.url is None else self._response(original, None)
        if original.url is None or response is None or not response.has_document:
            return None
        return FirstCapture(original.url.text, original.at_s)

    def _response(self, record: ForeignRecord, original: ForeignRecord | None) -> Response | None:
        if record.kind == "resource":
            return Response(0, b"", "", {"content-type": record.content_type}, MemoryDocument(record.payload or b""))
        if record.kind not in ("response", "revisit"):
            return None
        head, payload = record.head, b"" if record.not_modified else record.payload
        if payload is None:
            if original is None or original.payload is None:
                return None
            head, payload = head or original.head, original.payload
        found = read_head([line + b"\r\n" for line in head.rstrip(b"\r\n").split(b"\r\n")] + [b"\r\n"])
        if found is None:
            return None
        status, plain, version, headers = found
        return Response(status, plain, version, headers, MemoryDocument(payload), record.truncated)


def records_taken(counters: Counters) -> int:
    """By all runs of an import: visits, captures that belong to none, and what could not be taken."""
    return counters.visits + counters.unvisited + counters.passed_over
