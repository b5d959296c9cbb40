"""What the elements of an HTML document say, but for `a`, which the reader takes itself."""

import re
from collections.abc import Callable
from typing import Final

from whimbrel.url import Url, resolve

Attribute = Callable[[str], str | None]
"""The value of an attribute by its name in lower case, empty when it was given none; None when it is not there."""
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
_NO_DOCUMENT: Final = frozenset(
    (
        *("dns-prefetch", "preconnect", "prefetch", "pingback", "profile", "hub", "webmention", "micropub"),
        *("edituri", "wlwmanifest", "expect", "compression-dictionary", "https://api.w.org/", "openid.server"),
        *("openid.delegate", "openid2.provider", "openid2.local_id", "token_endpoint", "authorization_endpoint"),
    )
)
"""What a `link` element may name beside documents, pictures and the like: services, and hints for browsers."""
_NO_DOCUMENT_TYPES: Final = ("oembed", "json")
_REQUISITES: Final = {
    "stylesheet": "style", "icon": "img", "apple-touch-icon": "img", "apple-touch-icon-precomposed": "img",
    "apple-touch-startup-image": "img", "mask-icon": "img", "fluid-icon": "img", "image_src": "img",
    "preload": "media", "modulepreload": "script", "manifest": "media",
}  # fmt: skip
_SOURCES: Final = {"img": "img", "script": "script", "source": "media", "video": "media", "audio": "media",
                   "track": "media", "embed": "media", "input": "img"}  # fmt: skip


def fold(text: str) -> str:
    """White space folded to single blanks, none at the ends."""
    return " ".join(text.split())


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

    def element(self, tag: str, attribute: Attribute) -> None:
        """Any element but `a`, which readers add to `links` themselves: it is the one there are many of."""
        match tag:
            case "area":
                self._add("area", attribute("href"), attribute("rel") or "")
            case "iframe" | "frame":
                self._add(tag, attribute("src"))
            case "link":
                self._link(attribute)
            case "meta":
                self._meta(attribute)
            case "base":
                if self.base is None:
                    self.base = attribute("href")
            case "html":
                self.language = self.language or (attribute("lang") or "").strip()[:100]
            case "form":
                if (attribute("method") or "get").strip().lower() == "get":
                    self._add("form", attribute("action"))
            case _:
                self._requisite(tag, attribute)

    def base_of(self, url: Url) -> Url:
        """What links are relative to. A base that is no http or https URL is as good as none."""
        return (resolve(url, self.base) if self.base else None) or url

    def say_title(self, text: str) -> None:
        """The first title is the document's."""
        if self.title is None:
            self.title = fold(text)[:_MAX_META]

    def _add(self, kind: str, href: str | None, rel: str = "") -> None:
        if href is not None:
            self.links.append((kind, href, rel))

    def _link(self, attribute: Attribute) -> None:
        href, rel = attribute("href"), fold(attribute("rel") or "").lower()
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
        elif _NO_DOCUMENT.isdisjoint(words) and not (attribute("type") or "").lower().endswith(_NO_DOCUMENT_TYPES):
            self._add("link", href, rel)

    def _meta(self, attribute: Attribute) -> None:
        content = attribute("content")
        if content is None:
            return
        name = (attribute("name") or "").strip().lower()
        if name == "description":
            if self.description is None:
                self.description = fold(content)[:_MAX_META]
        elif name:
            if len(self.robots) < _MAX_ROBOTS and name not in ("viewport", "generator", "keywords", "author"):
                self.robots.append((name, content))
        elif (attribute("http-equiv") or "").strip().lower() == "refresh":
            self._refresh(content)

    def _refresh(self, content: str) -> None:
        """`5; url=/there` (HTML §4.2.5.3, http-equiv refresh). Without a URL it reloads the page, which is no link."""
        if _REFRESH_TIME.match(content):
            said = _REFRESH.match(content)
            if said:
                self._add("refresh", said[1] or said[2] or said[3])

    def _requisite(self, tag: str, attribute: Attribute) -> None:
        kind = _SOURCES.get(tag)
        if kind is None or not self.requisites or (tag == "input" and attribute("type") != "image"):
            return
        self._add(kind, attribute("src") or None)
        self._add(kind, attribute("poster") or None)
        for candidate in (attribute("srcset") or "").split(", "):
            # A URL may hold commas, but not at its end and not before a blank (HTML §4.8.4.2.1).
            words = candidate.split(None, 1)
            if words:
                self._add(kind, words[0].rstrip(","))
