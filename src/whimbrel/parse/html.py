"""HTML: links, words and what the document says of itself, by lexbor, the parser behind selectolax.

The tree is built only where that is cheap for certain (`guard.py`); what is left is read as a stream of tags
(`stream.py`). On pages of 28 KB with 50 links a walk over all elements made the whole reading 9 % cheaper than one CSS
query for the wanted ones (168 and 185 µs); on documentation pages, with 1,700 tags on average, there was no difference.
"""

from collections.abc import Callable
from typing import Final

from selectolax.lexbor import LexborDocumentOptions, LexborHTMLParser, LexborNode

from whimbrel.parse.api import Links, ParsedPage
from whimbrel.parse.charset import to_utf8
from whimbrel.parse.guard import is_cheap
from whimbrel.parse.html_links import MAX_ANCHOR, Harvest, Reading, fold, fold_lines, resolved
from whimbrel.parse.robots_directive import directives
from whimbrel.parse.stream import read_stream
from whimbrel.url import Url
from whimbrel.url.join import Joined

_ELEMENTS: Final = (
    *("a", "area", "iframe", "frame", "link", "base", "meta", "title", "form", "html"),
    *("script", "style", "noscript", "noframes", "noembed"),
)
_REQUISITES: Final = ("img", "source", "video", "audio", "track", "embed", "input")
_UNSEEN: Final = frozenset(("script", "style", "noscript", "noframes", "noembed", "iframe"))
"""Their text is not the reader's to see."""
_ANCHORS_KEPT: Final = 10_000
_ANCHOR_KEPT_CHARS: Final = 64
# Copying the selected option about is the one use of events in a parser; a hostile page can make it expensive.
_OPTIONS: Final = LexborDocumentOptions.WO_EVENTS.value


class Html:
    """A module for text/html."""

    def __init__(self, reading: Reading, now_s: Callable[[], float]) -> None:
        self._reading = reading
        self._now_s = now_s
        names = _ELEMENTS + (_REQUISITES if reading.requisites else ())
        self._tags = {_tag_id(name): name for name in names}
        self._a = _tag_id("a")
        self._joined = Joined()
        self._anchors = _Anchors(self._a)

    def read(self, body: bytes, url: Url, mime: str, charset: str) -> ParsedPage:
        body, charset = to_utf8(body, charset)
        if is_cheap(body):
            return self._read_tree(body, url, mime, charset)
        return read_stream(body, url, mime, charset, self._reading, self._now_s)

    def _read_tree(self, body: bytes, url: Url, mime: str, charset: str) -> ParsedPage:
        tree = LexborHTMLParser(body, options=_OPTIONS)
        root = tree.root
        if root is None:
            return ParsedPage(mime, charset)
        harvest, nodes, unseen = self._harvest(root)
        found = resolved(harvest, url, self._reading.max_links, self._joined)
        anchors = self._anchors.of([nodes[place] for place in found.places])
        # Removed last: anchors stand in some of them.
        for node in unseen:
            node.decompose(recursive=False)
        return ParsedPage(
            mime,
            charset,
            harvest.title or "",
            harvest.description or "",
            harvest.language,
            found.canonical,
            directives(harvest.robots, self._reading.agent) if harvest.robots else (),
            self._text(tree.body or root) if self._reading.text else "",
            Links(found.targets, anchors, found.rels, found.kinds),
            found.trouble,
        )

    def _harvest(self, root: LexborNode) -> tuple[Harvest, list[LexborNode], list[LexborNode]]:
        """What the elements say; for each raw link its node; and the nodes that nobody sees."""
        harvest = Harvest(requisites=self._reading.requisites)
        links, nodes, unseen = harvest.links, [], []
        tags, a = self._tags, self._a
        for node in root.traverse():
            tag_id = node.tag_id
            if tag_id not in tags:
                continue
            if tag_id == a:
                attributes = node.attributes
                if "href" in attributes:
                    links.append(("a", attributes["href"] or "", attributes.get("rel") or ""))
                    nodes.append(node)
                continue
            tag = tags[tag_id]
            if tag in _UNSEEN:
                unseen.append(node)
            if tag == "title":
                harvest.say_title(node.text())
            elif tag not in ("style", "noscript"):
                harvest.element(tag, node.attributes)
                nodes += [node] * (len(links) - len(nodes))
        return harvest, nodes, unseen

    def _text(self, node: LexborNode) -> str:
        return fold_lines(node.text(separator=" ", strip=True, skip_empty=True))[: self._reading.max_text_chars]


class _Anchors:
    """The words of links. Most are one text, and pages of a site repeat each other's: these are remembered, which is
    cheaper than to fold them again, and makes them one object."""

    def __init__(self, a: int) -> None:
        self._a = a
        self._folded: dict[str, str] = {}

    def of(self, nodes: list[LexborNode]) -> list[str]:
        """One for each node; empty for all but `a`."""
        if len(self._folded) > _ANCHORS_KEPT:
            self._folded.clear()
        known, found = self._folded.get, []
        for node in nodes:
            first = node.first_child
            if first is None or node.tag_id != self._a:
                found.append("")
                continue
            text = first.text_content if first.next is None else None
            if text is None:
                text = node.text(separator=" ")
            found.append(known(text) or self._fold(text))
        return found

    def _fold(self, text: str) -> str:
        folded = fold(text)[:MAX_ANCHOR]
        if len(text) <= _ANCHOR_KEPT_CHARS:
            self._folded[text] = folded
        return folded


def _tag_id(name: str) -> int:
    """Lexbor's number for a tag: it compares faster than a name, but is not promised to stay the same."""
    return LexborHTMLParser("").create_node(name).tag_id
