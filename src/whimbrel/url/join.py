"""Links of one document, made absolute. Called for every link, so the common spellings never reach the parser.

Pages of a site repeat each other's links, so those that mean the same on each of them, or on each of a folder, are
remembered: the same text is the same object then, which also makes every later comparison cheaper.

A link is *plain* when each of its characters stands for itself in a path and in a query, and no segment of its path can
be a dot segment. Joining a plain link to its base is gluing text. All others go to the standard's own parser.
"""

import re
from typing import Final

from whimbrel.cache import ENTRY_BYTES
from whimbrel.url.canonical import canonical
from whimbrel.url.value import Url

# All but what both percent-encode sets keep as it is (https://url.spec.whatwg.org/#path-percent-encode-set, and that
# of a special query). Odd for us, though one of the two sets keeps them: ' ^ ` { }. A backslash may be a slash.
_ODD: Final = re.compile(r"[^!$-&(-;=?-\[\]_a-z|~]")
# A host in lower case that is not an IPv4 address: its last label starts with a letter, and so is no number
# (https://url.spec.whatwg.org/#ends-in-a-number-checker). A port of four or five digits is nobody's default.
_AUTHORITY: Final = re.compile(
    r"https?://(?:[a-z0-9_-]++\.)*[a-z][a-z0-9-]*(?::(?:[1-9][0-9]{3}|[1-5][0-9]{4}))?(?=[/?]|\Z)"
)
# Labels in Punycode are checked by the parser, and may be refused.
_PUNYCODE: Final = "xn--"
_REMEMBERED_CHARS: Final = 400
"""Of a link and what it leads to, together: longer ones are rarely repeated."""
_PLACE_BYTES: Final = 400
"""What an origin or a folder takes, besides its characters and its links."""


def without_fragment(href: str) -> str:
    """The same link to a crawler, where that can be seen at once: a blank before the # is a part of the path, and the
    parser refuses some texts wherever they stand."""
    end = href.find("#")
    return href[:end] if end >= 0 and href.isascii() and (end == 0 or href[end - 1] > " ") else href


class Joined:
    """What plain links of recent pages led to, by the page's origin, or by its folder for those that are relative to
    it. When they take more than `most_bytes` no more are added, and with the next page all are forgotten."""

    __slots__ = ("_most_bytes", "_places", "bytes")

    def __init__(self, most_bytes: int = 16_000_000) -> None:
        self._most_bytes = most_bytes
        self._places: dict[str, dict[str, str]] = {}
        self.bytes = 0

    def of(self, place: str) -> dict[str, str]:
        if self.bytes > self._most_bytes:
            self._places.clear()
            self.bytes = 0
        found = self._places.get(place)
        if found is None:
            # An empty one counts, too: a site may have as many folders as pages, and their names may be long.
            self.bytes += _PLACE_BYTES + len(place)
            found = self._places[place] = {}
        return found

    def add(self, place: dict[str, str], href: str, joined: str) -> None:
        """One more link of a place that `of` has returned."""
        if self.bytes <= self._most_bytes:
            self.bytes += ENTRY_BYTES + len(href) + len(joined)
            place[href] = joined


class Joiner:
    """`join(href)` equals `resolve(base, href).text` for every text."""

    __slots__ = ("_base", "_directory", "_joined", "_odd", "_origin", "_path", "_root", "_scheme", "known", "near")

    def __init__(self, base: Url, joined: Joined | None = None) -> None:
        self._base = base.text
        self._scheme = base.scheme + ":"
        self._origin = base.origin
        self._root = self._origin + "/"
        self._path = base.text.partition("?")[0]
        self._directory = self._path[: self._path.rindex("/") + 1]
        self._odd = _ODD.search
        self._joined = Joined() if joined is None else joined
        self.known = self._joined.of(self._origin)
        """Links that were joined before; who has dozens of them looks here first."""
        self.near = self._joined.of(self._directory)
        """The same for those that are relative to the folder."""

    def join(self, href: str) -> str | None:
        """The canonical text of a link as written in a document; None when it leads nowhere a crawler goes."""
        return self.near.get(href) or self.known.get(href) or self._find(href)

    def _find(self, href: str) -> str | None:
        plain = href
        if "#" in href:
            if not href.isascii():  # The parser refuses some texts, wherever in the link they stand.
                return canonical(href, self._base)
            plain = href.partition("#")[0]
        above, rest = self._above(plain) if plain[:1] == "." else ("", plain)
        if self._odd(rest) is None and "/." not in rest and ("%" not in rest or "%2e" not in rest.lower()):
            joined = above + rest if above else self._join_plain(rest)
            if joined is not None:
                self._remember(href, plain, joined)
                return joined
        # The link itself, not what stands before its fragment: a blank before the # is a part of the path.
        return canonical(href, self._base)

    def _above(self, plain: str) -> tuple[str, str]:
        """`../../x` from the folder that it is relative to: that folder, and the rest. All of it is the rest when it
        begins otherwise."""
        directory, at = self._directory, 0
        while True:
            if plain.startswith("../", at):
                at += 3
                if len(directory) > len(self._root):
                    directory = directory[: directory.rindex("/", 0, -1) + 1]
            elif plain.startswith("./", at):
                at += 2
            else:
                return ("", plain) if plain[at : at + 1] in (".", "/") else (directory, plain[at:])

    def _remember(self, href: str, plain: str, joined: str) -> None:
        """What depends on the page alone is not worth it."""
        first = plain[:1]
        if first in ("", "?") or len(href) + len(joined) > _REMEMBERED_CHARS:
            return
        self._joined.add(self.known if first == "/" or (":" in plain and first != ".") else self.near, href, joined)

    def _join_plain(self, plain: str) -> str | None:
        """None when the parser has to be asked."""
        if not plain:
            return self._base
        first = plain[0]
        if first == "?":
            return self._path + plain
        if first == "/":
            return _absolute(self._scheme + plain) if plain[1:2] == "/" else self._origin + plain
        if ":" not in plain:
            return None if first == "." else self._directory + plain
        if plain.startswith(self._root):
            return plain
        return _absolute(plain)


def _absolute(plain: str) -> str | None:
    found = _AUTHORITY.match(plain)
    if found is None or _PUNYCODE in plain:
        return None
    end = found.end()
    if end == len(plain):
        return plain + "/"
    return plain if plain[end] == "/" else f"{plain[:end]}/{plain[end:]}"
