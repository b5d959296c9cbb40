"""HTML as a stream of tags, without a tree: linear time and bounded memory for any bytes.

For documents that a tree is too dear for. Tags are cut out as HTML §13.2.5 says; what the tree builder would move about
is left where it stands. On ordinary documents both readers find the same.
"""

import html
import re
from collections.abc import Callable, Iterator
from html.entities import html5
from itertools import islice
from typing import Final

from whimbrel.parse.api import Links, ParsedPage
from whimbrel.parse.html_links import MAX_ANCHOR, Harvest, Reading, fold, fold_lines, resolved
from whimbrel.parse.robots_directive import directives
from whimbrel.url import Url

# Possessive throughout: what does not match must fail at once, or a hostile tag would be tried in every way.
_ATTRIBUTE: Final = (
    r"[ \t\n\f\r/]*+([^ \t\n\f\r/>][^ \t\n\f\r/>=]*+)"
    r"(?:[ \t\n\f\r]*+=[ \t\n\f\r]*+(?:\"([^\"]*+)\"|'([^']*+)'|((?![\"'])[^ \t\n\f\r>]*+)))?+"
)
_ATTRIBUTES: Final = re.compile(_ATTRIBUTE)
_TAG: Final = re.compile(
    r"<(/?)([a-zA-Z][^ \t\n\f\r/>]*+)((?:" + re.sub(r"\((?=[^?])", "(?:", _ATTRIBUTE) + r")*+)[ \t\n\f\r/]*+>"
)
_OPEN: Final = re.compile(r"<(?=[a-zA-Z/!?])")
_COMMENT_END: Final = re.compile(r"--!?>")
_END_TAG: Final = {
    name: re.compile(rf"</{name}(?=[ \t\n\f\r/>])", re.IGNORECASE)
    for name in ("script", "style", "title", "textarea", "iframe", "noembed", "noframes", "xmp")
}
"""Elements whose content is no markup, with what ends them."""
_REFERENCE: Final = re.compile(r"&(?:#[0-9]+;?|#[xX][0-9a-fA-F]+;?|([a-zA-Z][a-zA-Z0-9]*)(;?)(=?))")
_SAYING: Final = frozenset(
    (
        "area",
        "frame",
        "link",
        "meta",
        "base",
        "html",
        "form",
        "img",
        "source",
        "video",
        "audio",
        "track",
        "embed",
        "input",
    )
)
_MAX_ATTRIBUTES: Final = 256
"""Of one tag; later ones are not looked at."""
_CLOCK_EVERY: Final = 512


def read_stream(
    body: bytes, url: Url, mime: str, charset: str, reading: Reading, now_s: Callable[[], float]
) -> ParsedPage:
    reader = _Reader(body.decode("utf-8", "replace"), reading)
    reader.run(now_s)
    harvest = reader.harvest
    found = resolved(harvest, url, reading.max_links)
    anchors = [reader.anchors.get(place, "") for place in found.places]
    return ParsedPage(
        mime,
        charset,
        harvest.title or "",
        harvest.description or "",
        harvest.language,
        found.canonical,
        directives(harvest.robots, reading.agent) if harvest.robots else (),
        fold_lines(" ".join(reader.words))[: reading.max_text_chars] if reading.text else "",
        Links(found.targets, anchors, found.rels, found.kinds),
        reader.trouble or found.trouble,
    )


class _Reader:
    def __init__(self, text: str, reading: Reading) -> None:
        self._text = text
        self._reading = reading
        self.harvest = Harvest(requisites=reading.requisites)
        self.words: list[str] = []
        self.anchors: dict[int, str] = {}
        """By the place of their raw link."""
        self.trouble = ""
        self._anchor_place = -1
        self._anchor_words = 0
        self._unseen = 0
        """Open noscript elements: their links count, their words do not."""
        self._inert = 0
        """Open templates: nothing in them is part of the document."""

    def run(self, now_s: Callable[[], float]) -> None:
        until_s = now_s() + self._reading.time_budget_s
        count = 0
        for end, name, inside in self._tags():
            count += 1
            if count % _CLOCK_EVERY == 0 and now_s() > until_s:
                self.trouble = "time-budget"
                break
            if name == "template":
                self._inert = max(0, self._inert + (-1 if end else 1))
            elif self._inert:
                continue
            elif end:
                self._end(name)
            else:
                self._start(name, inside)
        self._close_anchor()

    def _tags(self) -> Iterator[tuple[bool, str, str]]:
        """Each tag: whether it is an end tag, its name, its attributes as written. Words are taken on the way."""
        text, at = self._text, 0
        while True:
            opening = _OPEN.search(text, at)
            if opening is None:
                self._say(text[at:])
                return
            start = opening.start()
            self._say(text[at:start])
            tag = _TAG.match(text, start)
            if tag is not None:
                at = tag.end()
                name = tag[2].lower()
                yield bool(tag[1]), name, tag[3]
                if not tag[1] and name in _END_TAG:
                    at = self._raw_end(name, at)
                elif name == "plaintext" and not tag[1]:
                    self._say(text[at:])
                    return
            else:
                at = self._beyond(start)
            if at < 0:
                return

    def _beyond(self, start: int) -> int:
        """Where a comment or the like ends; -1 when it does not, or when it is a tag that never closes."""
        text = self._text
        if text.startswith("<!--", start):
            end = _COMMENT_END.search(text, start + 2)
            return end.end() if end else -1
        after = text[start + 2 : start + 3]
        is_bogus = text[start + 1] in "!?" or (text[start + 1] == "/" and not (after.isascii() and after.isalpha()))
        return text.find(">", start) + 1 or -1 if is_bogus else -1

    def _raw_end(self, name: str, at: int) -> int:
        end = _END_TAG[name].search(self._text, at)
        content = self._text[at : end.start()] if end else self._text[at:]
        if self._inert:
            pass
        elif name == "title":
            self.harvest.say_title(html.unescape(content))
        elif name in ("textarea", "xmp"):
            self._say(content)
        return end.start() if end else -1

    def _say(self, words: str) -> None:
        if self._unseen or self._inert:
            return
        words = (html.unescape(words) if "&" in words else words).strip()
        if words:
            self.words.append(words)

    def _start(self, name: str, inside: str) -> None:
        if name == "a":
            self._close_anchor()
            attributes = _attributes(inside)
            href = attributes.get("href")
            if "href" in attributes:
                self._anchor_place, self._anchor_words = len(self.harvest.links), len(self.words)
                self.harvest.links.append(("a", href or "", attributes.get("rel") or ""))
        elif name == "noscript":
            self._unseen += 1
        elif name in _SAYING or name in ("iframe", "script"):
            self.harvest.element(name, _attributes(inside))

    def _end(self, name: str) -> None:
        if name == "a":
            self._close_anchor()
        elif name == "noscript" and self._unseen:
            self._unseen -= 1

    def _close_anchor(self) -> None:
        if self._anchor_place >= 0:
            words = self.words[self._anchor_words : self._anchor_words + MAX_ANCHOR]
            self.anchors[self._anchor_place] = fold(" ".join(words))[:MAX_ANCHOR]
            self._anchor_place = -1


def _attributes(inside: str) -> dict[str, str | None]:
    """The first of each name counts."""
    found: dict[str, str | None] = {}
    for attribute in islice(_ATTRIBUTES.finditer(inside), _MAX_ATTRIBUTES):
        name, double, single, bare = attribute.groups("")
        value = double or single or bare
        found.setdefault(name.lower(), _unescaped(value) if "&" in value else value)
    return found


def _unescaped(value: str) -> str:
    """In attributes `&copy=1` and `&copyright` are no references (HTML §13.2.5.73)."""
    return _REFERENCE.sub(_referred, value)


def _referred(reference: re.Match[str]) -> str:
    name, semicolon, equals = reference[1], reference[2], reference[3]
    if name is None:
        return html.unescape(reference[0])
    if semicolon:
        meant = html5.get(f"{name};")
        return reference[0] if meant is None else meant + equals
    return reference[0] if equals or name not in html5 else html5[name]
