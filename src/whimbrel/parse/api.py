"""The messages of parsing."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Protocol, Self, overload

import msgspec

from whimbrel.dedupe.api import FirstCapture
from whimbrel.fetch.api import Exchange
from whimbrel.outcome import Outcome
from whimbrel.url import Url
from whimbrel.visit import Visit


class Reading(msgspec.Struct, frozen=True):
    """How documents are read: the parser's configuration, as far as modules need it (`ParserConfig` says more)."""

    agent: str = "whimbrel"
    text: bool = True
    requisites: bool = False
    max_links: int = 10_000
    max_text_chars: int = 1_000_000
    time_budget_s: float = 2.0


class PageLink(msgspec.Struct, frozen=True, gc=False):
    """A link as found in a document, made absolute. `kind` says by what it links: `a`, `area`, `iframe`, `frame`,
    `link`, `form`, `img`, `script`, `style`, `media`, `refresh`, `canonical`, `sitemap`, `feed`, `text`, `redirect`,
    `header`; `handler` is one that a handler made."""

    target: str
    """The canonical text of an http or https URL, without fragment and credentials."""
    anchor: str = ""
    """Its words, white space folded, at most 200 characters."""
    rel: str = ""
    """In lower case, single blanks between the words."""
    kind: str = "a"


class Links(Sequence[PageLink]):
    """Links in document order, kept as columns: a page has dozens, the table of links wants columns, and an object for
    each would cost more than finding it. Read as a sequence it makes `Link`s."""

    __slots__ = ("anchors", "kinds", "rels", "targets")

    def __init__(self, targets: list[str], anchors: list[str], rels: list[str], kinds: list[str]) -> None:
        """All of one length, and not to be changed afterwards."""
        self.targets = targets
        self.anchors = anchors
        self.rels = rels
        self.kinds = kinds

    @classmethod
    def of(cls, links: Iterable[PageLink]) -> Self:
        found = tuple(links)
        return cls(
            [link.target for link in found],
            [link.anchor for link in found],
            [link.rel for link in found],
            [link.kind for link in found],
        )

    @property
    def chars(self) -> int:
        """Of all its texts together."""
        return sum(map(len, self.targets)) + sum(map(len, self.anchors)) + sum(map(len, self.rels))

    def __len__(self) -> int:
        return len(self.targets)

    def __iter__(self) -> Iterator[PageLink]:
        return map(PageLink, self.targets, self.anchors, self.rels, self.kinds)

    @overload
    def __getitem__(self, at: int) -> PageLink: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[PageLink, ...]: ...
    def __getitem__(self, at: int | slice) -> PageLink | tuple[PageLink, ...]:
        if isinstance(at, slice):
            return tuple(self)[at]
        return PageLink(self.targets[at], self.anchors[at], self.rels[at], self.kinds[at])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return f"Links.of({list(self)!r})"


NO_LINKS = Links([], [], [], [])


_LINK_BYTES: Final = 400
"""What a link takes besides its texts: objects, places in lists, and columns of rows."""
READ_IN_PART: Final = frozenset(("too-large", "too-many-links", "time-budget", "crashed"))
"""Troubles of a document of which not everything was read; it is whole in the archive."""


class ParsedPage(msgspec.Struct, frozen=True, gc=False):
    """What a document says. Empty strings are what was not said."""

    mime: str
    """Without parameters, in lower case; what the header says, or what the first bytes look like when it says
    nothing."""
    charset: str = ""
    title: str = ""
    description: str = ""
    language: str = ""
    canonical: str = ""
    """Absolute."""
    robots: tuple[str, ...] = ()
    """The robots directives that are for everyone or for us, from meta tags and headers: lower case, sorted, each once.
    `none` is written out as `nofollow` and `noindex`."""
    text: str = ""
    links: Links = NO_LINKS
    """Each pair of target and kind once, in document order. With `nofollow` among the directives they are still here;
    whoever follows links looks at `robots`."""
    trouble: str = ""
    """Why the document was not read to its end: `too-many-links`, `too-large`, `time-budget`, `decoded-cut`,
    `undecodable`; else empty."""
    length: int = 0
    """Bytes of the document once its content codings are taken off; filled in by the parser."""

    @property
    def held_bytes(self) -> int:
        """What it takes in memory, about."""
        return self.text.__sizeof__() + _LINK_BYTES * len(self.links) + self.links.chars


class Module(Protocol):
    """A processing module: reads documents of some MIME types. Must not raise for any bytes, and must keep to its
    budgets: a hostile document costs its own links, never the crawl."""

    def read(self, body: bytes, url: Url, mime: str, charset: str) -> ParsedPage:
        """`body` is decoded already; `charset` is what the header says, or empty."""


class Handled(msgspec.Struct, frozen=True, kw_only=True):
    """What the user's own handlers made of a page."""

    handlers: str
    """Their names."""
    version: str
    """Of their code."""
    outcome: str
    """`ok`, `error`, `timeout` or `died`."""
    error: str = ""
    printed: str = ""
    elapsed_ms: float = 0.0
    items: list[tuple[str, tuple[tuple[str, str], ...], list[Any], bytes]] = []
    """Table, columns, values, and the key that later items with the same one take its place by."""
    first: frozenset[str] = frozenset()
    """Links that go before all others of their hosts."""
    bytes: int = 0
    """What the items take in memory, about."""


class Parsed(msgspec.Struct, frozen=True, gc=False):
    """A visit was made and its document was read. What becomes of it is decided when its effects are applied: whether
    it is made again, and whether its document is a duplicate."""

    visit: Visit
    exchange: Exchange
    outcome: Outcome
    reason: str
    passing: bool = False
    """It failed, and may do better at another try."""
    page: ParsedPage | None = None
    """None when there is no document to read."""
    digest: bytes = b""
    """SHA-1 of the payload as received; empty when there is none."""
    comparable: bool = False
    """The document is long enough to be called a duplicate of another, or another of it."""
    earlier: FirstCapture | None = None
    """The capture that was known to have brought the same payload first, when it was looked up."""
    retry_after_s: float = 0.0
    """What the server asked us to wait; 0 when it did not."""
    redirect_to: str = ""
    """Where it is `redirected` to; empty with every other outcome, and when that is nowhere."""
    handled: Handled | None = None
    """None when no handler looked at it."""
    refusals: Mapping[str, str] = {}
    """Links that the user's own filters refuse: `filter`, or `filter-error` where a filter failed."""
    nowhere: int = 0
    """Links of handlers that lead to no http or https URL."""
