"""XML, read safely: no entity is expanded, nothing outside the document is fetched, and what is broken ends early.

Sitemaps and feeds are the documents a crawler reads; the root element says which of them it is.
"""

import re
from collections.abc import Callable
from typing import Final, Protocol
from xml.parsers import expat

from whimbrel.parse.api import Links, ParsedPage, Reading
from whimbrel.parse.charset import to_utf8
from whimbrel.parse.html_links import fold
from whimbrel.parse.link_list import LinkList
from whimbrel.url import Url
from whimbrel.url.join import Joiner

_CHUNK: Final = 64 * 1024
_MAX_DEPTH: Final = 64
_MAX_WORDS: Final = 4_096
"""Characters kept of one element."""
_DECLARATION: Final = re.compile(rb"<\?xml[^>]*\?>")


class Entries(Protocol):
    """What collects links from the elements of one kind of document. Names are without prefix."""

    title: str

    def start(self, path: list[str], attributes: dict[str, str]) -> None:
        """An element begins; `path` are the open elements, this one last."""

    def end(self, path: list[str], words: str) -> None:
        """It ends; `words` are the characters directly in it, stripped."""


Say = Callable[[str, str, str], None]
"""Takes a link as written, its rel and its kind."""


class _Stop(Exception):
    """Enough has been read."""


class Xml:
    """A module for XML types: a table from root elements to what reads them."""

    def __init__(
        self, reading: Reading, now_s: Callable[[], float], roots: dict[str, Callable[[Say], Entries]]
    ) -> None:
        self._reading = reading
        self._now_s = now_s
        self._roots = roots

    def read(self, body: bytes, url: Url, mime: str, charset: str) -> ParsedPage:
        body, charset = to_utf8(body, charset)
        # It is UTF-8 now, whatever the declaration says. Blanks before the declaration are a common mistake.
        run = _Run(self._roots, url, self._reading.max_links)
        until_s = self._now_s() + self._reading.time_budget_s
        parser = run.parser()
        body = body.lstrip()
        declaration = _DECLARATION.match(body)
        body = body[declaration.end() :].lstrip() if declaration else body
        trouble = ""
        try:
            for at in range(0, len(body), _CHUNK):
                parser.Parse(body[at : at + _CHUNK])
                if self._now_s() > until_s:
                    trouble = "time-budget"
                    break
        except (expat.ExpatError, _Stop, ValueError):
            pass  # Broken, refused or enough: what was found before stands.
        title = fold(run.entries.title)[:_MAX_WORDS] if run.entries else ""
        return ParsedPage(mime, charset, title, links=run.found(), trouble=trouble or run.links.trouble)


class _Run:
    """One document. It ends when an entity is declared: nothing we want needs one, and bombs are made of them."""

    def __init__(self, roots: dict[str, Callable[[Say], Entries]], url: Url, max_links: int) -> None:
        self._roots = roots
        self._path: list[str] = []
        self._words: list[list[str]] = []
        self.entries: Entries | None = None
        self.links = LinkList(Joiner(url), max_links)

    def parser(self) -> expat.XMLParserType:
        parser = expat.ParserCreate("utf-8")
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._characters
        parser.EntityDeclHandler = self._refuse
        return parser

    def _refuse(self, *_: object) -> None:
        raise _Stop

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        local = name.rpartition(":")[2].lower()
        if self.entries is None:
            found = self._roots.get(local)
            if found is None:
                raise _Stop
            self.entries = found(self._say)
        self._path.append(local)
        self._words.append([])
        if len(self._path) > _MAX_DEPTH:
            raise _Stop
        self.entries.start(self._path, attributes)

    def _end(self, _: str) -> None:
        if self.entries is not None:
            self.entries.end(self._path, "".join(self._words.pop()).strip()[:_MAX_WORDS])
            self._path.pop()

    def _characters(self, words: str) -> None:
        if self._words and len(self._words[-1]) < _MAX_WORDS:
            self._words[-1].append(words[:_MAX_WORDS])

    def _say(self, href: str, rel: str, kind: str) -> None:
        if not self.links.add(kind, href, rel):
            raise _Stop

    def found(self) -> Links:
        links = self.links
        return Links(links.targets, [""] * len(links.targets), links.rels, links.kinds)
