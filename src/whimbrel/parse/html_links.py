"""What the elements of an HTML document say, but for `a`, which the reader takes itself."""

import re
from collections.abc import Callable, Collection, Iterator
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
_MAX_CANONICALS: Final = 4
_MAX_BASE: Final = 4_096
"""Characters. All that is relative to a longer one is too long."""
_REFRESH: Final = re.compile(
    r"\s*+[\d.]++(?=[\s;,])\s*+[;,]?+\s*+(?:url\s*+=\s*+)?+(?:\"([^\"]*)|'([^']*)|(\S.*))", re.IGNORECASE | re.DOTALL
)
_NO_DOCUMENT: Final = frozenset(
    (
        *("dns-prefetch", "preconnect", "prefetch", "pingback", "profile", "hub", "webmention", "micropub"),
        *("edituri", "wlwmanifest", "expect", "compression-dictionary", "https://api.w.org/", "openid.server"),
        *("openid.delegate", "openid2.provider", "openid2.local_id", "token_endpoint", "authorization_endpoint"),
    )
)
"""What a `link` element may name beside documents, pictures and the like: services, and hints for browsers."""
_NO_DOCUMENT_TYPES: Final = ("oembed", "json")
REQUISITE_RELATIONS: Final = {
    "stylesheet": "style", "icon": "img", "apple-touch-icon": "img", "apple-touch-icon-precomposed": "img",
    "apple-touch-startup-image": "img", "mask-icon": "img", "fluid-icon": "img", "image_src": "img",
    "preload": "media", "modulepreload": "script", "manifest": "media",
}  # fmt: skip
"""The kind of a `link` element that names something a page needs to be shown, by its rel."""
REQUISITE_ELEMENTS: Final = {"img": "img", "script": "script", "source": "media", "video": "media", "audio": "media",
                             "track": "media", "embed": "media", "input": "img"}  # fmt: skip
"""The kind of what other elements name."""


_CANDIDATE: Final = re.compile(r"[\s,]*+([^\s,]\S*+)(?:(?<!,)[^,]*+)?")
"""A URL of `srcset`, and its descriptors. It may hold commas, but not at its end, and no blank (HTML §4.8.4.2.1)."""


def fold(text: str) -> str:
    """White space folded to single blanks, none at the ends."""
    return " ".join(text.split())


def srcset_urls(text: str) -> Iterator[str]:
    return (candidate[1].rstrip(",") for candidate in _CANDIDATE.finditer(text))


class Harvest:
    """What one document's elements say, in document order, before anything is made absolute: a base may come late."""

    __slots__ = (
        *("base", "canonicals", "description", "is_cut", "language", "links", "requisites", "robots", "title"),
        *("_most", "_names"),
    )

    def __init__(self, *, requisites: bool, most: int, robots: Collection[str]) -> None:
        """`most` links are taken as written; `robots` are the names of meta tags that speak to us."""
        self.requisites = requisites
        self._most = most
        self._names = robots
        self.is_cut = False
        """There were more links."""
        self.links: list[Raw] = []
        self.base: str | None = None
        self.title: str | None = None
        self.description: str | None = None
        self.language = ""
        self.canonicals: list[str] = []
        """As written; the first that leads anywhere counts."""
        self.robots: list[tuple[str, str]] = []
        """Name and content of each meta tag that is a robots directive."""

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
        said = resolve(url, self.base) if self.base and len(self.base) <= _MAX_BASE else None
        return said if said is not None and len(said.text) <= _MAX_BASE else url

    def say_title(self, text: str) -> None:
        """The first title is the document's."""
        if self.title is None:
            self.title = fold(text)[:_MAX_META]

    def _add(self, kind: str, href: str | None, rel: str = "") -> None:
        if href is not None:
            if len(self.links) >= self._most:
                self.is_cut = True
                return
            self.links.append((kind, href, rel))

    def _link(self, attribute: Attribute) -> None:
        href, rel = attribute("href"), fold(attribute("rel") or "").lower()
        if not href or not rel:
            return
        words = rel.split(" ")
        if "canonical" in words:
            if len(self.canonicals) < _MAX_CANONICALS:
                self.canonicals.append(href)
            self._add("canonical", href, rel)
            return
        kind = next((REQUISITE_RELATIONS[word] for word in words if word in REQUISITE_RELATIONS), "")
        if kind:
            if self.requisites:
                self._add(kind, href, rel)
        elif _NO_DOCUMENT.isdisjoint(words) and not _mime(attribute("type")).endswith(_NO_DOCUMENT_TYPES):
            self._add("link", href, rel)

    def _meta(self, attribute: Attribute) -> None:
        content = attribute("content")
        if content is None:
            return
        name = (attribute("name") or "").strip().lower()
        if name == "description":
            if self.description is None:
                self.description = fold(content)[:_MAX_META]
        elif name in self._names and len(self.robots) < _MAX_ROBOTS:
            self.robots.append((name, content))
        if (attribute("http-equiv") or "").strip().lower() == "refresh":
            self._refresh(content)

    def _refresh(self, content: str) -> None:
        """`5; url=/there` (HTML §4.2.5.3, http-equiv refresh). Without a URL it reloads the page, which is no link."""
        said = _REFRESH.match(content[:_MAX_META])
        if said:
            self._add("refresh", said[1] or said[2] or said[3] or None)

    def _requisite(self, tag: str, attribute: Attribute) -> None:
        kind = REQUISITE_ELEMENTS.get(tag)
        if kind is None or not self.requisites or (tag == "input" and attribute("type") != "image"):
            return
        self._add(kind, attribute("src") or None)
        self._add(kind, attribute("poster") or None)
        for candidate in srcset_urls(attribute("srcset") or ""):
            self._add(kind, candidate)
            if self.is_cut:
                return


def _mime(type_: str | None) -> str:
    return (type_ or "").partition(";")[0].strip().lower()
