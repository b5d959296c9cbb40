"""What the elements of an HTML document say: both readers, of trees and of tag streams, hand their elements over."""

import re
from collections.abc import Mapping
from typing import Final

import msgspec

from whimbrel.url import Url, resolve
from whimbrel.url.join import Joined, Joiner

Attributes = Mapping[str, str | None]
"""By name in lower case; None is an attribute without a value."""
Raw = tuple[str, str, str]
"""Kind, link as written, rel."""

MAX_ANCHOR: Final = 200
_MAX_META: Final = 2_000
"""Characters kept of a title or a description."""
_MAX_ROBOTS: Final = 64
_REFRESH: Final = re.compile(
    r"\s*[\d.]*[\s;,]*(?:url\s*=\s*)?(?:\"([^\"]*)|'([^']*)|(\S.*))", re.IGNORECASE | re.DOTALL
)
_REFRESH_TIME: Final = re.compile(r"\s*(?:\d|\.)[\d.]*\s*(?:[;,\s]|\Z)")
_NO_DOCUMENT: Final = frozenset(("dns-prefetch", "preconnect", "pingback"))
_REQUISITES: Final = {
    "stylesheet": "style", "icon": "img", "apple-touch-icon": "img", "preload": "media", "modulepreload": "script",
    "manifest": "media",
}  # fmt: skip
_SOURCES: Final = {"img": "img", "script": "script", "source": "media", "video": "media", "audio": "media",
                   "track": "media", "embed": "media", "input": "img"}  # fmt: skip


class Reading(msgspec.Struct, frozen=True):
    """How documents are read: the parser's configuration, as far as modules need it."""

    agent: str = "whimbrel"
    text: bool = True
    requisites: bool = False
    max_links: int = 10_000
    max_text_chars: int = 1_000_000
    time_budget_s: float = 2.0


def fold(text: str) -> str:
    """White space folded to single blanks, none at the ends."""
    return " ".join(text.split())


def fold_lines(text: str) -> str:
    """Lines joined by a blank, white space at their ends removed. Two blanks inside a line stay: to look for them would
    cost more than all the rest of a page's text (77 of 110 µs for 28 KB)."""
    for odd in "\r\t\f\xa0":
        if odd in text:
            text = text.replace(odd, " ")
    if "\n" in text:
        text = " ".join([line for part in text.split("\n") if (line := part.strip())])
    return text.strip()


class Harvest:
    """What one document's elements say, in document order, before anything is made absolute: a base may come late."""

    __slots__ = ("base", "canonical", "description", "language", "links", "requisites", "robots", "title")

    def __init__(self, *, requisites: bool) -> None:
        self.requisites = requisites
        self.links: list[Raw] = []
        self.base: str | None = None
        self.title: str | None = None
        self.description: str | None = None
        self.language = ""
        self.canonical = ""
        self.robots: list[tuple[str, str]] = []
        """Name and content of each meta tag that may be a robots directive."""

    def element(self, tag: str, attributes: Attributes) -> None:
        """Any element but `a`, which readers add to `links` themselves: it is the one there are many of."""
        match tag:
            case "area":
                self._add("area", attributes.get("href"), attributes.get("rel") or "")
            case "iframe" | "frame":
                self._add(tag, attributes.get("src"))
            case "link":
                self._link(attributes)
            case "meta":
                self._meta(attributes)
            case "base":
                if self.base is None and "href" in attributes:
                    self.base = attributes["href"] or ""
            case "html":
                self.language = self.language or (attributes.get("lang") or "").strip()[:100]
            case "form":
                if (attributes.get("method") or "get").strip().lower() == "get" and "action" in attributes:
                    self._add("form", attributes["action"] or "")
            case _:
                self._requisite(tag, attributes)

    def say_title(self, text: str) -> None:
        """The first title is the document's."""
        if self.title is None:
            self.title = fold(text)[:_MAX_META]

    def _add(self, kind: str, href: str | None, rel: str = "") -> None:
        if href is not None:
            self.links.append((kind, href, rel))

    def _link(self, attributes: Attributes) -> None:
        href, rel = attributes.get("href"), fold(attributes.get("rel") or "").lower()
        if not href or not rel:
            return
        words = rel.split(" ")
        if "canonical" in words:
            self.canonical = self.canonical or href
            self._add("canonical", href, rel)
            return
        kind = next((_REQUISITES[word] for word in words if word in _REQUISITES), "")
        if kind:
            if self.requisites:
                self._add(kind, href, rel)
        elif _NO_DOCUMENT.isdisjoint(words):
            self._add("link", href, rel)

    def _meta(self, attributes: Attributes) -> None:
        content = attributes.get("content")
        if content is None:
            return
        name = (attributes.get("name") or "").strip().lower()
        if name == "description":
            if self.description is None:
                self.description = fold(content)[:_MAX_META]
        elif name:
            if len(self.robots) < _MAX_ROBOTS and name not in ("viewport", "generator", "keywords", "author"):
                self.robots.append((name, content))
        elif (attributes.get("http-equiv") or "").strip().lower() == "refresh":
            self._refresh(content)

    def _refresh(self, content: str) -> None:
        """`5; url=/there` (HTML §4.2.5.3, http-equiv refresh). Without a URL it reloads the page, which is no link."""
        if _REFRESH_TIME.match(content):
            said = _REFRESH.match(content)
            if said:
                self._add("refresh", said[1] or said[2] or said[3])

    def _requisite(self, tag: str, attributes: Attributes) -> None:
        kind = _SOURCES.get(tag)
        if kind is None or not self.requisites or (tag == "input" and attributes.get("type") != "image"):
            return
        self._add(kind, attributes.get("src") or None)
        self._add(kind, attributes.get("poster") or None)
        for candidate in (attributes.get("srcset") or "").split(", "):
            # A URL may hold commas, but not at its end and not before a blank (HTML §4.8.4.2.1).
            words = candidate.split(None, 1)
            if words:
                self._add(kind, words[0].rstrip(","))


class Resolved(msgspec.Struct, frozen=True, gc=False):
    """Columns of one length: each pair of target and kind once."""

    targets: list[str]
    rels: list[str]
    kinds: list[str]
    places: list[int]
    """Of the raw links."""
    canonical: str
    trouble: str


def resolved(harvest: Harvest, url: Url, max_links: int, joined: Joined | None = None) -> Resolved:
    """Make links absolute. A base that is no http or https URL is as good as none. `joined` remembers links from one
    page to the next."""
    base = (resolve(url, harvest.base) if harvest.base else None) or url
    joiner = Joiner(base, joined)
    known, join = joiner.known.get, joiner.join
    seen: set[str | tuple[str, str]] = set()
    found = Resolved([], [], [], [], (join(harvest.canonical) if harvest.canonical else None) or "", "")
    targets, rels, kinds, places = found.targets, found.rels, found.kinds, found.places
    for place, (kind, href, rel) in enumerate(harvest.links):
        target = known(href) or join(href)
        if target is None:
            continue
        key = target if kind == "a" else (target, kind)
        if key in seen:
            continue
        if len(targets) >= max_links:
            return msgspec.structs.replace(found, trouble="too-many-links")
        seen.add(key)
        targets.append(target)
        rels.append(fold(rel).lower() if rel else "")
        kinds.append(kind)
        places.append(place)
    return found
