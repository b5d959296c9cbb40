"""The links of one document: made absolute, each pair of target and kind once, and no more than a limit."""

from collections.abc import Iterable
from typing import Final

from whimbrel.parse.html_links import Raw, fold
from whimbrel.url.join import Joiner

RAW_LINKS: Final = 10
"""Links that are looked at for each that may be kept: pages repeat theirs, and many lead nowhere."""
_MAX_HREF: Final = 16_384
"""Characters of a link as written. No server takes half of that; a longer one leads nowhere."""
_MAX_CHARS: Final = 8_000_000
"""Of all targets together: a long base makes every short link a long one."""
_USUAL_CHARS: Final = 500
"""Most targets are shorter, and need not be counted one by one."""


class LinkList:
    """Columns of one length, in document order."""

    __slots__ = ("_chars", "_joiner", "_max_links", "_seen", "kinds", "places", "rels", "targets", "trouble")

    def __init__(self, joiner: Joiner, max_links: int) -> None:
        self._joiner = joiner
        self._max_links = max_links
        self._chars = 0
        self._seen: set[str | tuple[str, str]] = set()
        self.targets: list[str] = []
        self.rels: list[str] = []
        self.kinds: list[str] = []
        self.places: list[int] = []
        """Of each among the links that were offered."""
        self.trouble = ""
        """`too-many-links` when some were left out."""

    def join(self, href: str) -> str | None:
        return self._joiner.join(href) if len(href) <= _MAX_HREF else None

    def add_all(self, links: Iterable[Raw]) -> None:
        # Nearly all links of a site's pages were joined before.
        near, known, join, seen = self._joiner.near.get, self._joiner.known.get, self.join, self._seen
        targets, rels, kinds, places = self.targets, self.rels, self.kinds, self.places
        for place, (kind, href, rel) in enumerate(links):
            target = near(href) or known(href) or join(href)
            if target is None:
                continue
            key = target if kind == "a" else (target, kind)
            if key in seen:
                continue
            if len(target) > _USUAL_CHARS:
                self._chars += len(target)
            if len(targets) >= self._max_links or self._chars > _MAX_CHARS:
                self.trouble = "too-many-links"
                return
            seen.add(key)
            targets.append(target)
            rels.append(fold(rel).lower() if rel else "")
            kinds.append(kind)
            places.append(place)

    def add(self, kind: str, href: str, rel: str) -> bool:
        """False when there are too many."""
        self.add_all(((kind, href, rel),))
        return not self.trouble
