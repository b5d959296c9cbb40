"""Feeds: RSS 0.9 to 2.0 and Atom (RFC 4287)."""

from typing import Final

from whimbrel.parse.xml import Say

_RELS: Final = frozenset(("", "alternate", "next", "previous", "related", "via"))


class Feed:
    """The pages that entries and the feed itself lead to, and the feed's title."""

    def __init__(self, say: Say) -> None:
        self.title = ""
        self._say = say

    def start(self, path: list[str], attributes: dict[str, str]) -> None:
        """Atom has its links in attributes."""
        href, rel = attributes.get("href"), attributes.get("rel", "").strip().lower()
        if path[-1] == "link" and href and rel in _RELS:
            self._say(href, rel, "feed")

    def end(self, path: list[str], words: str) -> None:
        """RSS has them as words."""
        if not words or len(path) < 2:
            return
        if path[-1] == "link" and path[-2] in ("item", "channel"):
            self._say(words, "", "feed")
        elif path[-1] == "title" and path[-2] in ("channel", "feed") and not self.title:
            self.title = words
