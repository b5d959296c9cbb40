"""A page as handlers see it."""

import re
from functools import cached_property
from typing import TYPE_CHECKING, Any

import msgspec
import turbohtml

from whimbrel.fetch.coding import decode
from whimbrel.handle.select import ElementNode, Node, Selected, TextNode, matches, select
from whimbrel.handle.structured import json_ld, microdata
from whimbrel.parse.charset import decoded
from whimbrel.parse.html_text import html_text
from whimbrel.url import Url, parse, resolve
from whimbrel.url.join import Joined, Joiner

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

    def __init__(self, raw: RawPage, max_bytes: int = 64_000_000, joined: Joined | None = None) -> None:
        """`joined` is what links of the pages before led to."""
        self._raw = raw
        self._max_bytes = max_bytes
        self._joined = joined
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
    def html(self) -> str:
        """The document as text, whatever its encoding and type."""
        return decoded(self.body, self._raw.charset)[0]

    @cached_property
    def document(self) -> turbohtml.Document:
        """The document as turbohtml parsed it."""
        return turbohtml.parse(self.html, positions=False)

    @cached_property
    def tree(self) -> "LexborHTMLParser":
        """The document as selectolax parses it, for handlers of earlier versions; `document` is what all the rest uses.
        It needs selectolax, which Whimbrel does not install any more."""
        try:
            from selectolax.lexbor import LexborHTMLParser
        except ModuleNotFoundError as error:
            message = "page.tree needs selectolax: pip install selectolax, or use page.document (turbohtml)"
            raise ModuleNotFoundError(message) from error
        return LexborHTMLParser(self.html)

    @cached_property
    def base(self) -> Url:
        """What relative links are relative to."""
        own = parse(self.url)
        if own is None:
            raise ValueError(f"{self.url} is no http or https URL")
        said = self.document.select_one("base[href]")
        return (resolve(own, said.attr("href") or "") if said is not None else None) or own

    @cached_property
    def _joiner(self) -> Joiner:
        return Joiner(self.base, self._joined)

    def join(self, href: str) -> str | None:
        """A link of the page as written, made absolute: relative to `base`. None when it leads to no http or https
        URL."""
        # An absolute one needs no document to be read for its base.
        absolute = parse(href) if href.startswith(("http://", "https://")) else None
        return self._join(href) if absolute is None else absolute.text

    def _join(self, href: str) -> str | None:
        return self._joiner.join(href)

    @property
    def title(self) -> str:
        """Of the document; empty when there is none."""
        return self.css("title").text

    @cached_property
    def text(self) -> str:
        """The words that a reader sees; the same as in the table `pages`."""
        return html_text(turbohtml.parse(self.html, positions=False))

    @cached_property
    def main_text(self) -> str:
        """The words of its main content, without menus and other furniture; empty when none stands out."""
        main = self.document.main_content()
        return "" if main is None else html_text(turbohtml.parse(main.html, positions=False))

    @cached_property
    def markdown(self) -> str:
        """The document as Markdown."""
        return self.document.to_markdown()

    def css(self, selector: str) -> Selected:
        """The elements that a CSS selector finds; with `::text` or `::attr(name)` at its end their texts or attributes.
        ValueError when it is none."""
        return Selected(select(self.document, selector), self._join)

    def xpath(self, expression: str) -> Selected:
        """What an XPath 1.0 expression finds: elements, attributes or texts. ValueError when it is none."""
        try:
            found = self.document.xpath(expression)
        except ValueError as error:
            raise ValueError(f"{expression!r} is no XPath expression: {error}") from error
        return Selected([_node(one) for one in (found if isinstance(found, list) else [found])], self._join)

    def re(self, pattern: "str | re.Pattern[str]") -> list[str]:
        """All matches in the document: the first group where there is one, else the whole."""
        return matches(pattern, self.html)

    def json(self) -> Any:
        """The body, read as JSON."""
        return msgspec.json.decode(self.html.encode("utf-8", "replace"))

    @cached_property
    def json_ld(self) -> list[dict[str, Any]]:
        """The things that the page describes in JSON-LD; what is broken is left out."""
        return json_ld(script.text for script in self.document.select('script[type="application/ld+json"]'))

    @cached_property
    def microdata(self) -> list[dict[str, Any]]:
        """The things that the page describes in microdata: `type` and each property, a list where it comes twice."""
        return microdata(self.document, self.base)

    @property
    def links(self) -> list[str]:
        """Where its anchors lead, each once."""
        return list(dict.fromkeys(self.css("a[href], area[href]").hrefs))

    def __repr__(self) -> str:
        return f"<Page {self.url}>"


def _node(found: Any) -> Node:
    if isinstance(found, turbohtml.Document):
        found = found.root or ""
    if isinstance(found, turbohtml.Element):
        return ElementNode(found)
    return TextNode(found.data if isinstance(found, turbohtml.Comment | turbohtml.Text) else _written(found))


def _written(value: Any) -> str:
    """Numbers and truths of XPath, as XPath writes them."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:g}" if isinstance(value, float) else str(value)
