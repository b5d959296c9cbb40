"""A page as handlers see it."""

import re
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import msgspec
import turbohtml
from turbohtml import Namespace

from whimbrel.fetch.coding import decode
from whimbrel.handle.node import evaluate, select
from whimbrel.handle.select import Selected, matches
from whimbrel.handle.structured import json_ld, microdata
from whimbrel.parse.charset import decoded
from whimbrel.parse.html_text import html_text
from whimbrel.url import Url, parse, resolve
from whimbrel.url.join import Joined, Joiner

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser

_HTML: Final = ("text/html", "application/xhtml+xml")


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
        """What relative links are relative to: the page itself, or what the `base` of an HTML document says."""
        own = parse(self.url)
        if own is None:
            raise ValueError(f"{self.url} is no http or https URL")
        said = self._first("base[href]") if self.mime in _HTML else None
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
        """Of the document, not of a picture in it; empty when there is none."""
        found = self._first("title")
        return "" if found is None else " ".join(found.text.split())

    @cached_property
    def text(self) -> str:
        """The words that a reader sees, of a document read as HTML whatever its type. Of HTML they are those of
        `pages.text`, which is cut after a million characters and 6 MB of a document; of feeds, JSON and images that is
        empty."""
        return html_text(turbohtml.parse(self.html, positions=False))

    @cached_property
    def main_text(self) -> str:
        """The words of its main content, without menus and other furniture, by a rule of thumb that is made for
        articles; empty when nothing stands out."""
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
        return Selected(evaluate(self.document, expression), self._join)

    def re(self, pattern: "str | re.Pattern[str]") -> list[str]:
        """All matches in the document: the first group where there is one, else the whole."""
        return matches(pattern, self.html)

    def json(self) -> Any:
        """The body, read as JSON. ValueError when it is none."""
        try:
            return msgspec.json.decode(self.html.encode("utf-8", "replace"))
        except (msgspec.DecodeError, RecursionError) as error:
            raise ValueError(f"{self.url} is no JSON: {error}") from error

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
        """Where its anchors lead, each once: the links of the kinds `a` and `area` that a crawl finds. Those in a
        `template` are no part of the document."""
        return list(dict.fromkeys(target for href in self._anchors() if (target := self._join(href)) is not None))

    def _anchors(self) -> Iterator[str]:
        for element in self.document.iter_elements(("a", "area")):
            if element.tag == "area" and element.namespace is not Namespace.HTML:
                continue
            href = element.attr("href")
            if href is None and element.namespace is Namespace.SVG:
                href = element.attr("xlink:href")
            if href is not None and not _is_in_template(element):
                yield href

    def _first(self, selector: str) -> turbohtml.Element | None:
        """The first element of HTML itself that is not in a `template`."""
        for element in self.document.select(selector):
            if element.namespace is Namespace.HTML and not _is_in_template(element):
                return element
        return None

    def __repr__(self) -> str:
        return f"<Page {self.url}>"


def _is_in_template(element: turbohtml.Element) -> bool:
    # Asked in this order, since most documents have none.
    return element.closest("template") is not None and any(
        isinstance(outer, turbohtml.Element) and outer.tag == "template" and outer.namespace is Namespace.HTML
        for outer in element.ancestors
    )
