"""HTML: links, words and what the document says of itself, by turbohtml (docs/adr/0017-one-html-reader.md).

The tree is built as browsers build it, in time and memory that grow with the document's size, whatever it says. One
walk over the elements that matter takes links and metadata; the words are the texts of what a reader sees.
"""

from codecs import BOM_UTF8
from typing import Final

from turbohtml import Document, Element, Namespace

from whimbrel.parse.api import Links, ParsedPage, Reading
from whimbrel.parse.charset import decoded
from whimbrel.parse.html_links import MAX_ANCHOR, Harvest, fold
from whimbrel.parse.html_text import UNSEEN, seen_text
from whimbrel.parse.html_tree import MAX_BYTES, tree_of
from whimbrel.parse.link_list import LinkList
from whimbrel.parse.robots_directive import directives
from whimbrel.url import Url
from whimbrel.url.join import Joined, Joiner, without_fragment

_RAW_LINKS: Final = 10
"""Links that are looked at for each that may be kept: pages repeat theirs."""
_SAYING: Final = ("area", "iframe", "frame", "link", "base", "meta", "title", "form", "html")
_REQUISITES: Final = ("img", "script", "source", "video", "audio", "track", "embed", "input")
_ANCHORS_KEPT: Final = 10_000
_ANCHOR_KEPT_CHARS: Final = 64


class Html:
    """A module for text/html."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._tags = ("a", "template", *_SAYING, *UNSEEN, *(_REQUISITES if reading.requisites else ()))
        self._joined = Joined()
        self._anchors = _Anchors()

    def read(self, body: bytes, url: Url, mime: str, charset: str) -> ParsedPage:
        read = body[:MAX_BYTES]
        text, charset = decoded(read, charset)
        same = read.removeprefix(BOM_UTF8) if charset == "utf-8" else text.encode("utf-8", "replace")
        document, is_whole = tree_of(text, same)
        walk = self._walk(document)
        if walk.templates:
            for template in walk.templates:
                template.decompose()
            walk = self._walk(document)
        harvest = walk.harvest
        base = harvest.base_of(url)
        links = LinkList(Joiner(base, self._joined), self._reading.max_links)
        links.add_all(harvest.links)
        canonical = links.join(harvest.canonical) if harvest.canonical else None
        trouble = links.trouble if is_whole and len(body) <= MAX_BYTES else "too-large"
        return ParsedPage(
            mime,
            charset,
            harvest.title or "",
            harvest.description or "",
            harvest.language,
            canonical or "",
            directives(harvest.robots, self._reading.agent) if harvest.robots else (),
            # Last: it changes the tree, and words of links stand where nobody sees them.
            links=self._links(links, [walk.linking[place] for place in links.places]),
            text=self._text(document, walk) if self._reading.text else "",
            trouble=trouble,
        )

    def _text(self, document: Document, walk: "_Walk") -> str:
        return seen_text(document, walk.unseen)[: self._reading.max_text_chars]

    def _links(self, links: LinkList, elements: list[Element]) -> Links:
        """With the words of each `a` and its rel, which are asked for only here: pages repeat their links."""
        self._anchors.begin()
        anchors, rels, anchor = [], links.rels, self._anchors.of
        for at, element in enumerate(elements):
            if element.tag != "a":
                anchors.append("")
                continue
            anchors.append(anchor(element))
            rel = element.attr("rel")
            if rel:
                rels[at] = fold(rel).lower()
        return Links(links.targets, anchors, rels, links.kinds)

    def _walk(self, document: Document) -> "_Walk":
        walk = _Walk(requisites=self._reading.requisites)
        harvest, most = walk.harvest, self._reading.max_links * _RAW_LINKS
        links, linking = harvest.links, walk.linking
        seen: set[str] = set()
        for element in document.iter_elements(self._tags):
            tag = element.tag
            if tag == "a":
                href = element.attr("href")
                if href is None:
                    href = element.attr("xlink:href")
                    if href is None:
                        continue
                if "#" in href:
                    href = "" if href[0] == "#" and href.isascii() else without_fragment(href)
                if href not in seen and len(seen) < most:
                    seen.add(href)
                    links.append(("a", href, ""))
                    linking.append(element)
            else:
                walk.take(tag, element)
        return walk


class _Walk:
    """What was met on the way through a document."""

    __slots__ = ("harvest", "linking", "templates", "unseen")

    def __init__(self, *, requisites: bool) -> None:
        self.harvest = Harvest(requisites=requisites)
        self.linking: list[Element] = []
        """The element of each link."""
        self.unseen: list[Element] = []
        self.templates: list[Element] = []
        """What is in them is no part of the document."""

    def take(self, tag: str, element: Element) -> None:
        """Any element but `a`: it is the one there are many of."""
        if tag in UNSEEN:
            self.unseen.append(element)
        if tag == "template":
            self.templates.append(element)
        elif tag == "title":
            if element.namespace is Namespace.HTML:
                self.harvest.say_title(element.text)
        elif tag not in ("style", "noscript"):
            self.harvest.element(tag, element.attr)
            self.linking += [element] * (len(self.harvest.links) - len(self.linking))


class _Anchors:
    """The words of links. Pages of a site repeat each other's: short ones are remembered, which is cheaper than to fold
    them again, and makes them one object."""

    def __init__(self) -> None:
        self._folded: dict[str, str] = {}

    def begin(self) -> None:
        if len(self._folded) > _ANCHORS_KEPT:
            self._folded.clear()

    def of(self, element: Element) -> str:
        # Several children may be blocks. (Not `to_text`: turbohtml 1.15.4 never returns from it on some broken pages.)
        text = element.text if len(element) < 2 else " ".join(element.strings)
        return self._folded.get(text) or self._fold(text)

    def _fold(self, text: str) -> str:
        folded = fold(text)[:MAX_ANCHOR]
        if len(text) <= _ANCHOR_KEPT_CHARS:
            self._folded[text] = folded
        return folded
