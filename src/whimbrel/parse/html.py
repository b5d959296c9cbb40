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
from whimbrel.parse.html_tree import MAX_BYTES, TEMPLATES, is_template, tree_of
from whimbrel.parse.link_list import RAW_LINKS, LinkList
from whimbrel.parse.robots_directive import directives, meta_names
from whimbrel.url import Url
from whimbrel.url.join import Joined, Joiner, without_fragment

_SAYING: Final = ("area", "iframe", "frame", "link", "base", "meta", "title", "form", "html")
_REQUISITES: Final = ("img", "script", "source", "video", "audio", "track", "embed", "input")
_ANCHORS_KEPT: Final = 10_000
_ANCHOR_KEPT_CHARS: Final = 64
_ANCHOR_READ_CHARS: Final = 2_000
_ANCHOR_SHARE: Final = 8
"""The words of all links may be so many times the document's."""


class Html:
    """A module for text/html."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._tags = ("a", *TEMPLATES, *_SAYING, *UNSEEN, *(_REQUISITES if reading.requisites else ()))
        self._names = meta_names(reading.agent)
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
        canonical = next(filter(None, map(links.join, harvest.canonicals)), "")
        trouble = "too-many-links" if harvest.is_cut else links.trouble
        trouble = trouble if is_whole and len(body) <= MAX_BYTES else "too-large"
        return ParsedPage(
            mime,
            charset,
            harvest.title or "",
            harvest.description or "",
            harvest.language,
            canonical,
            directives(harvest.robots, self._reading.agent) if harvest.robots else (),
            # Last: it changes the tree, and words of links stand where nobody sees them.
            links=self._links(links, [walk.linking[place] for place in links.places], len(text)),
            text=self._text(document, walk) if self._reading.text else "",
            trouble=trouble,
        )

    def _text(self, document: Document, walk: "_Walk") -> str:
        return seen_text(document, walk.unseen, self._reading.max_text_chars)

    def _links(self, links: LinkList, elements: list[Element], chars: int) -> Links:
        """With the words of each `a` and its rel, which are asked for only here: pages repeat their links."""
        self._anchors.begin(chars)
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
        most = self._reading.max_links * RAW_LINKS
        harvest = Harvest(requisites=self._reading.requisites, most=most, robots=self._names)
        walk = _Walk(harvest)
        links, linking = harvest.links, walk.linking
        seen: set[str] = set()
        for element in document.iter_elements(self._tags):
            tag = element.tag
            if tag == "a":
                href = element.attr("href")
                if href is None:
                    href = element.attr("xlink:href")
                    if href is None or element.namespace is not Namespace.SVG:
                        continue
                if "#" in href:
                    href = "" if href[0] == "#" and href.isascii() else without_fragment(href)
                if href not in seen:
                    if len(links) >= most:
                        harvest.is_cut = True
                        continue
                    seen.add(href)
                    links.append(("a", href, ""))
                    linking.append(element)
            else:
                walk.take(tag, element)
        return walk


class _Walk:
    """What was met on the way through a document."""

    __slots__ = ("harvest", "linking", "templates", "unseen")

    def __init__(self, harvest: Harvest) -> None:
        self.harvest = harvest
        self.linking: list[Element] = []
        """The element of each link."""
        self.unseen: list[Element] = []
        self.templates: list[Element] = []
        """What is in them is no part of the document."""

    def take(self, tag: str, element: Element) -> None:
        """Any element but `a`: it is the one there are many of."""
        if tag in UNSEEN:
            self.unseen.append(element)
        if element.namespace is not Namespace.HTML:
            return
        if tag in TEMPLATES:
            self.templates += (element,) if is_template(element) else ()
        elif tag == "title":
            self.harvest.say_title(element.text)
        elif tag not in ("style", "noscript"):
            self.harvest.element(tag, element.attr)
            self.linking += [element] * (len(self.harvest.links) - len(self.linking))


class _Anchors:
    """The words of links. Pages of a site repeat each other's: short ones are remembered, which is cheaper than to fold
    them again, and makes them one object."""

    def __init__(self) -> None:
        self._folded: dict[str, str] = {}
        self._left = 0

    def begin(self, chars: int) -> None:
        """For a document of so many characters."""
        self._left = _ANCHOR_SHARE * chars
        if len(self._folded) > _ANCHORS_KEPT:
            self._folded.clear()

    def of(self, element: Element) -> str:
        if self._left < 0:
            return ""
        # Several children may be blocks. (Not `to_text`: turbohtml 1.15.4 never returns from it on some broken pages.)
        text = element.text if len(element) < 2 else " ".join(element.strings)
        return self._folded.get(text) or self._fold(text)

    def _fold(self, text: str) -> str:
        # Links in links have the same words again and again.
        self._left -= len(text)
        folded = fold(text[:_ANCHOR_READ_CHARS])[:MAX_ANCHOR]
        if len(text) <= _ANCHOR_KEPT_CHARS:
            self._folded[text] = folded
        return folded
