"""Reads the documents that visits bring."""

from pathlib import Path

import msgspec

from whimbrel.clock import Clock
from whimbrel.dedupe.api import Fingerprinted
from whimbrel.fetch.api import Response
from whimbrel.fetch.coding import Decoded, decode, gunzip
from whimbrel.flow import Config, In, Needs, Out, Sync
from whimbrel.outcome.classify import classify, classify_document
from whimbrel.parse import dispatch
from whimbrel.parse.api import Module, Parsed, ParsedPage, Reading
from whimbrel.parse.crash_note import CrashNote, survives
from whimbrel.parse.robots_directive import header_directives
from whimbrel.url import Url


class ParserConfig(Config, frozen=True):
    """How documents are read."""

    agent: str = "whimbrel"
    """The product token that robots directives are matched against."""
    max_decoded_bytes: int = 32 * 1024 * 1024
    """Of a document once its content codings are taken off; what goes beyond is not read."""
    max_ratio: int = 250
    """Decoded bytes for each byte received, beyond the first 4 MiB. HTML reaches 50; a bomb 1,000 and more."""
    max_links: int = 10_000
    """Different ones of one document. Sitemaps and lists may have 50,000."""
    time_budget_s: float = 2.0
    """For one XML document; what was found by then counts. HTML needs none: its time grows with its size alone."""
    text: bool = True
    """Keep the visible words of documents."""
    max_text_chars: int = 1_000_000
    """Of the visible words."""
    requisites: bool = False
    """Also record images, styles, scripts and media."""
    directory: str = ""
    """Of the crawl, where a note says which document is being read; empty: no note is kept."""


class Parser(Sync):
    """A subclass may return another table from `modules`, to read more types or to read them in its own way."""

    Config = ParserConfig
    fingerprinted = In(Fingerprinted)
    parsed = Out(Parsed)
    clock = Needs(Clock)

    async def open(self) -> None:
        config: ParserConfig = self.config
        reading = Reading(
            agent=config.agent,
            text=config.text,
            requisites=config.requisites,
            max_links=config.max_links,
            max_text_chars=config.max_text_chars,
            time_budget_s=config.time_budget_s,
        )
        self._modules = self.modules(reading)
        self._note = CrashNote(Path(config.directory)) if config.directory else None

    async def close(self) -> None:
        if self._note is not None:
            self._note.close()

    def modules(self, reading: Reading) -> dispatch.Table:
        return dispatch.modules(reading, self.clock.now_s)

    def process(self, item: Fingerprinted) -> tuple[Parsed]:
        visit, exchange = item.visit, item.exchange
        response = exchange.response
        if response is not None and response.has_document:
            return (self._document(item, response),)
        verdict = classify(visit.url, exchange, visit.redirects)
        return (
            Parsed(
                visit,
                exchange,
                verdict.outcome,
                verdict.reason,
                verdict.passing,
                digest=item.digest,
                retry_after_s=verdict.retry_after_s,
                redirect_to="" if verdict.target is None else verdict.target.text,
            ),
        )

    def _document(self, item: Fingerprinted, response: Response) -> Parsed:
        config: ParserConfig = self.config
        coding = response.header("content-encoding") or ""
        decoded = decode(response.document.read(), coding, config.max_decoded_bytes, config.max_ratio)
        verdict = classify_document(response, decoded.trouble, len(decoded.body))
        return Parsed(
            item.visit,
            item.exchange,
            verdict.outcome,
            verdict.reason,
            page=self._read(decoded, item.visit.url, response),
            digest=item.digest,
            comparable=verdict.comparable,
            earlier=item.earlier,
        )

    def _read(self, decoded: Decoded, url: Url, response: Response) -> ParsedPage:
        config: ParserConfig = self.config
        body = decoded.body
        mime, charset = dispatch.media_type(response.header("content-type") or "")
        if not mime and body:
            mime = dispatch.sniffed(body)
        read_as = mime
        if dispatch.is_packed(mime, url.target, body):
            unpacked = gunzip(body, config.max_decoded_bytes, config.max_ratio)
            body, read_as = unpacked.body, dispatch.sniffed(unpacked.body)
        module = dispatch.module_for(self._modules, read_as)
        page = None
        if module is not None and body and self._is_readable(decoded, body, read_as):
            page = self._noted(module, body, url, mime, charset)
        return self._completed(page or ParsedPage(mime), decoded, response.header("x-robots-tag"))

    def _noted(self, module: Module, body: bytes, url: Url, mime: str, charset: str) -> ParsedPage:
        note = self._note
        if note is None:
            return module.read(body, url, mime, charset)
        if url.text in note.suspects and not survives(body, url.text, mime, charset):
            return ParsedPage(mime, charset, trouble="crashed")
        note.begin(url.text)
        return module.read(body, url, mime, charset)

    def _is_readable(self, decoded: Decoded, body: bytes, mime: str) -> bool:
        if not decoded.known or decoded.trouble == "undecodable":
            # Perhaps the header lies and the body is plain.
            return dispatch.sniffed(body) in (mime, dispatch.HTML)
        return not dispatch.is_image_or_archive(body)

    def _completed(self, page: ParsedPage, decoded: Decoded, x_robots_tag: str | None) -> ParsedPage:
        """With what the module cannot know."""
        robots = page.robots
        if x_robots_tag:
            robots = tuple(sorted({*robots, *header_directives(x_robots_tag, self.config.agent)}))
        trouble = decoded.trouble or page.trouble
        return msgspec.structs.replace(page, trouble=trouble, robots=robots, length=len(decoded.body))
