"""The links of one document: made absolute, each pair of target and kind once, and no more than a limit."""

from collections.abc import Iterable

from whimbrel.parse.html_links import Raw, fold
from whimbrel.url.join import Joiner


class LinkList:
    """Columns of one length, in document order."""

    __slots__ = ("_joiner", "_max_links", "_seen", "kinds", "places", "rels", "targets", "trouble")

    def __init__(self, joiner: Joiner, max_links: int) -> None:
        self._joiner = joiner
        self._max_links = max_links
        self._seen: set[str | tuple[str, str]] = set()
        self.targets: list[str] = []
        self.rels: list[str] = []
        self.kinds: list[str] = []
        self.places: list[int] = []
        """Of each among the links that were offered."""
        self.trouble = ""
        """`too-many-links` when some were left out."""

    def join(self, href: str) -> str | None:
        return self._joiner.join(href)

    def add_all(self, links: Iterable[Raw]) -> None:
        near, join, seen = self._joiner.near.get, self._joiner.join, self._seen
        targets, rels, kinds, places = self.targets, self.rels, self.kinds, self.places
        for place, (kind, href, rel) in enumerate(links):
            target = near(href) or join(href)
            if target is None:
                continue
            key = target if kind == "a" else (target, kind)
            if key in seen:
                continue
            if len(targets) >= self._max_links:
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
