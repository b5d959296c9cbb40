"""A page as handlers see it."""

import re
from functools import cached_property
from typing import TYPE_CHECKING, Any

import msgspec

from whimbrel.fetch.coding import decode
from whimbrel.handle.select import LexborElement, LxmlElement, Node, Selected, TextNode, matches
from whimbrel.handle.structured import json_ld, microdata
from whimbrel.parse.charset import to_utf8
from whimbrel.url import Url, parse, resolve

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser


class RawPage(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What a worker is sent of a page."""

    url: str
    status: int
    headers: dict[str, str]
    payload: bytes
    """As received, content codings and all."""
    mime: str
    charset: str = ""
    depth: int = 0
    at_s: float = 0.0


class Page:
    """Everything is computed when it is first asked for: a handler that looks at the URL alone costs nothing more."""

    def __init__(self, raw: RawPage, max_bytes: int = 64_000_000) -> None:
        self._raw = raw
        self._max_bytes = max_bytes
        self.url = raw.url
        """As it was asked for."""
        self.status = raw.status
        """Of the answer."""
        self.headers = raw.headers
        """Names in lower case."""
        self.mime = raw.mime
        """Its type, in lower case."""
        self.depth = raw.depth
        """Hops from a seed."""
        self.fetched_at_s = raw.at_s
        """Seconds since 1970."""

    @cached_property
    def body(self) -> bytes:
        """Content codings taken off."""
        return decode(self._raw.payload, self.headers.get("content-encoding", ""), self._max_bytes).body

    @cached_property
    def _utf8(self) -> bytes:
        return to_utf8(self.body, self._raw.charset)[0]

    @cached_property
    def html(self) -> str:
        """The document as text, whatever its encoding and type."""
        return self._utf8.decode("utf-8", "replace")

    @cached_property
    def tree(self) -> "LexborHTMLParser":
        """The document as selectolax parsed it."""
        from selectolax.lexbor import LexborHTMLParser

        # Bytes that are no UTF-8 must become U+FFFD first.
        return LexborHTMLParser(self._utf8 if self._utf8.isascii() else self.html)

    @cached_property
    def base(self) -> Url:
        """What relative links are relative to."""
        own = parse(self.url)
        if own is None:
            raise ValueError(f"{self.url} is no http or https URL")
        # Most pages have none, and to see that is much cheaper than to look for it in the tree.
        said = self.tree.css_first("base[href]") if "<base" in self.html.lower() else None
        return (resolve(own, said.attributes["href"] or "") if said is not None else None) or own

    def _get_base(self) -> Url:
        return self.base

    @property
    def title(self) -> str:
        """Of the document; empty when there is none."""
        return self.css("title").text

    @cached_property
    def text(self) -> str:
        """The words that a reader sees."""
        tree = self.tree.clone()
        tree.strip_tags(["script", "style", "noscript", "template"])
        body = tree.body
        return "" if body is None else " ".join(body.text(separator=" ").split())

    def css(self, selector: str) -> Selected:
        """The elements that a CSS selector finds. ValueError when it is none."""
        try:
            nodes: list[Node] = [LexborElement(node) for node in self.tree.css(selector)]
        except Exception as error:
            raise ValueError(f"{selector!r} is no CSS selector: {error}") from error
        return Selected(nodes, self._get_base)

    def xpath(self, expression: str) -> Selected:
        """What an XPath 1.0 expression finds: elements, attributes or texts."""
        found = self._lxml.xpath(expression)
        if not isinstance(found, list):
            found = [found]
        nodes = [LxmlElement(one) if hasattr(one, "itertext") else TextNode(_written(one)) for one in found]
        return Selected(list(nodes), self._get_base)

    def re(self, pattern: "str | re.Pattern[str]") -> list[str]:
        """All matches in the document: the first group where there is one, else the whole."""
        return matches(pattern, self.html)

    def json(self) -> Any:
        """The body, read as JSON."""
        return msgspec.json.decode(self._utf8)

    @cached_property
    def json_ld(self) -> list[dict[str, Any]]:
        """The things that the page describes in JSON-LD; what is broken is left out."""
        return json_ld(node.text() for node in self.tree.css('script[type="application/ld+json"]'))

    @cached_property
    def microdata(self) -> list[dict[str, Any]]:
        """The things that the page describes in microdata: `type` and each property, a list where it comes twice."""
        return microdata(self.tree, self.base)

    @property
    def links(self) -> list[str]:
        """Where its anchors lead, each once."""
        return list(dict.fromkeys(self.css("a[href], area[href]").hrefs))

    @cached_property
    def _lxml(self) -> Any:
        try:
            from lxml import html
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError("XPath needs lxml: pip install 'whimbrel[xpath]'") from error
        parser = html.HTMLParser(encoding="utf-8", huge_tree=False)
        text = self.html.encode("utf-8", "replace")
        return html.document_fromstring(text if text.strip() else b"<html></html>", parser=parser)

    def __repr__(self) -> str:
        return f"<Page {self.url}>"


def _written(value: Any) -> str:
    """Numbers and truths of XPath, as XPath writes them."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:g}" if isinstance(value, float) else str(value)
