"""From a type to the module that reads it: what the header says, or what the first bytes look like."""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final

import msgspec

from whimbrel.parse.api import Module, Reading
from whimbrel.parse.feed import Feed
from whimbrel.parse.html import Html
from whimbrel.parse.sitemap import MAX_URLS, Sitemap
from whimbrel.parse.text import Text
from whimbrel.parse.xml import Entries, Say, Xml

Table = dict[str, Module]
"""By MIME type in lower case. `application/xml` also reads types that end in `+xml` and are not listed."""

_LOOKED_AT: Final = 512
_TYPE_CHARS: Final = 500
"""Of a Content-Type header; what stands behind them says nothing."""
_TYPE: Final = re.compile(r"\s*([a-z0-9!#$&^_.+-]+/[a-z0-9!#$&^_.+-]+)\s*(?:[;,]|\Z)", re.IGNORECASE)
_CHARSET: Final = re.compile(r";\s*charset\s*=\s*\"?'?([^\s;,\"']+)", re.IGNORECASE)
_HTML: Final = re.compile(
    rb"(?:<!--.*?-->\s*)*+<(?:!doctype\s+html|html|head|body|script|style|title|meta|link|base|iframe|table|div|span|font"
    rb"|h[1-6]|a|b|i|p|br|ul|ol|form|img|center|frameset)(?=[\s/>])",
    re.IGNORECASE | re.DOTALL,
)
_XML: Final = re.compile(rb"<(?:\?xml\s|(?:[a-z0-9]+:)?(?:rss|feed|rdf|urlset|sitemapindex)[\s>])", re.IGNORECASE)
_XHTML: Final = re.compile(rb"<(?:!doctype\s+html|html)[\s>]", re.IGNORECASE)
_BINARY: Final = re.compile(rb"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]")
_MAGIC: Final = (
    b"\x89PNG\r\n",
    b"GIF8",
    b"\xff\xd8\xff",
    b"%PDF-",
    b"PK\x03\x04",
    b"\x1f\x8b",
    b"RIFF",
    b"OggS",
    b"ID3",
)
_GZIP: Final = frozenset(("application/gzip", "application/x-gzip", "application/octet-stream"))
HTML: Final = "text/html"
XML: Final = "application/xml"
TEXT: Final = "text/plain"
BINARY: Final = "application/octet-stream"


def media_type(content_type: str) -> tuple[str, str]:
    """The type in lower case and the charset of a Content-Type header; each empty when it is not there or malformed."""
    return _media_type(content_type[:_TYPE_CHARS])


@lru_cache(maxsize=1024)
def _media_type(content_type: str) -> tuple[str, str]:
    found = _TYPE.match(content_type)
    if found is None:
        return "", ""
    charset = _CHARSET.search(content_type)
    return found[1].lower(), charset[1] if charset else ""


def sniffed(body: bytes) -> str:
    """What the first bytes look like: HTML, XML, text, or neither."""
    head = body[:_LOOKED_AT]
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        head = head[2:].replace(b"\0", b"")
    head = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if head.startswith(_MAGIC) or _BINARY.search(head):
        return BINARY
    if _XML.match(head):
        return HTML if _XHTML.search(head) else XML
    return HTML if _HTML.match(head) else TEXT


def is_packed(mime: str, path: str, body: bytes) -> bool:
    """Whether it is a gzip file that may hold a sitemap: only those that say so in their name."""
    return (
        mime in _GZIP
        and body.startswith(b"\x1f\x8b")
        and path.partition("?")[0].lower().endswith((".xml.gz", ".txt.gz"))
    )


def is_image_or_archive(body: bytes) -> bool:
    """Whether no text begins like this, whatever the header says."""
    return body.startswith(_MAGIC)


def module_for(table: Table, mime: str) -> Module | None:
    found = table.get(mime)
    return table.get(XML) if found is None and mime.endswith("+xml") else found


def modules(reading: Reading, now_s: Callable[[], float]) -> Table:
    """What Whimbrel reads by itself. A user's table is this one with more in it."""
    html = Html(reading)
    lists = msgspec.structs.replace(reading, max_links=max(reading.max_links, MAX_URLS))
    roots: dict[str, Callable[[Say], Entries]] = {
        "urlset": Sitemap,
        "sitemapindex": Sitemap,
        "rss": Feed,
        "feed": Feed,
        "rdf": Feed,
    }
    xml = Xml(lists, now_s, roots)
    return {
        HTML: html,
        "application/xhtml+xml": html,
        XML: xml,
        "text/xml": xml,
        TEXT: Text(lists),
    }
