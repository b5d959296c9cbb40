"""Sitemaps and indexes of sitemaps (https://www.sitemaps.org/protocol.html)."""

from typing import Final

from whimbrel.parse.xml import Say

MAX_URLS: Final = 50_000
"""The protocol's own limit for one file."""


class Sitemap:
    """`loc` of each `url` and `sitemap`, and the `link` elements for other languages. Those of images are not pages."""

    def __init__(self, say: Say) -> None:
        self.title = ""
        self._say = say

    def start(self, path: list[str], attributes: dict[str, str]) -> None:
        if path[-1] == "link" and attributes.get("href"):
            self._say(attributes["href"], attributes.get("rel", "").strip().lower(), "sitemap")

    def end(self, path: list[str], words: str) -> None:
        if path[-1] == "loc" and len(path) == 3 and path[1] in ("url", "sitemap") and words:
            self._say(words, "", "sitemap")
