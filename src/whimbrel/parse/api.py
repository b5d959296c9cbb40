"""The messages of parsing."""

from typing import Protocol

import msgspec

from whimbrel.fetch.api import Fetched
from whimbrel.outcome import Outcome
from whimbrel.url import Url


class Link(msgspec.Struct, frozen=True, gc=False):
    """A link as found in a document, made absolute. `kind` says by what it links: `a`, `area`, `iframe`, `frame`,
    `link`, `form`, `img`, `script`, `style`, `media`, `refresh`, `canonical`, `sitemap`, `feed`, `text`, `redirect`,
    `header`."""

    target: str
    """The canonical text of an http or https URL, without fragment and credentials."""
    anchor: str = ""
    """Its words, white space folded, at most 200 characters."""
    rel: str = ""
    """In lower case, single blanks between the words."""
    kind: str = "a"


class Page(msgspec.Struct, frozen=True, gc=False):
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
    links: tuple[Link, ...] = ()
    """Each pair of target and kind once, in document order. With `nofollow` among the directives they are still here;
    whoever follows links looks at `robots`."""
    trouble: str = ""
    """Why the document was not read to its end: `too-many-links`, `time-budget`, `decoded-cut`, `undecodable`; else
    empty."""
    length: int = 0
    """Bytes of the document once its content codings are taken off; filled in by the parser."""


class Module(Protocol):
    """A processing module: reads documents of some MIME types. Must not raise for any bytes, and must keep to its
    budgets: a hostile document costs its own links, never the crawl."""

    def read(self, body: bytes, url: Url, mime: str, charset: str) -> Page:
        """`body` is decoded already; `charset` is what the header says, or empty."""


class Parsed(msgspec.Struct, frozen=True, gc=False):
    """A visit was made and settled, but for its links, which nobody has asked scope or URL-seen about yet.

    `outcome` is RETRY when the visit is to be made again: that is decided by who knows the number of tries.
    """

    fetched: Fetched
    outcome: Outcome
    reason: str
    page: Page | None = None
    """None when there is no document to read."""
    digest: bytes = b""
    """SHA-1 of the payload as received; empty when there is none."""
    claims: bool = False
    """The document is long enough to be called a duplicate of another, or another of it."""
    duplicate_of: str = ""
    """The URL that brought the same payload first."""
    duplicate_at_s: float = 0.0
    retry_after_s: float = 0.0
    """What the server asked us to wait; 0 when it did not."""
    redirect_to: str = ""
