"""Links of one document, made absolute. Called for every link, so the common spellings never reach the parser.

Pages of a site repeat each other's links, so those that mean the same on each of them are remembered: the same text is
the same object then, which also makes every later comparison cheaper.

A link is *plain* when each of its characters stands for itself in a path and in a query, and no segment of its path can
be a dot segment. Joining a plain link to its base is gluing text. All others go to the standard's own parser.
"""

import re
from typing import Final

from whimbrel.url.value import Url, canonical

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


class Joined:
    """What plain links of recent pages led to, by the page's origin. Beyond `most` links all of it is forgotten."""

    __slots__ = ("_most", "_origins", "count")

    def __init__(self, most: int = 50_000) -> None:
        self._most = most
        self._origins: dict[str, dict[str, str]] = {}
        self.count = 0

    def of(self, origin: str) -> dict[str, str]:
        if self.count > self._most:
            self._origins.clear()
            self.count = 0
        found = self._origins.get(origin)
        if found is None:
            found = self._origins[origin] = {}
        return found


class Joiner:
    """`join(href)` equals `resolve(base, href).text` for every text."""

    __slots__ = ("_base", "_directory", "_joined", "_odd", "_origin", "_path", "_root", "_scheme", "known")

    def __init__(self, base: Url, joined: Joined | None = None) -> None:
        self._base = base.text
        self._scheme = base.scheme + ":"
        self._origin = base.text[: len(base.text) - len(base.target)]
        self._root = self._origin + "/"
        self._path = base.text.partition("?")[0]
        self._directory = self._path[: self._path.rindex("/") + 1]
        self._odd = _ODD.search
        self._joined = Joined() if joined is None else joined
        self.known = self._joined.of(self._origin)
        """Links that were joined before; who has dozens of them looks here first."""

    def join(self, href: str) -> str | None:
        """The canonical text of a link as written in a document; None when it leads nowhere a crawler goes."""
        known = self.known.get(href)
        return self._find(href) if known is None else known

    def _find(self, href: str) -> str | None:
        plain = href
        if "#" in href:
            if not href.isascii():  # The parser refuses some texts, wherever in the link they stand.
                return canonical(href, self._base)
            plain = href.partition("#")[0]
        if self._odd(plain) is None and "/." not in plain and ("%" not in plain or "%2e" not in plain.lower()):
            joined = self._join_plain(plain)
            if joined is not None:
                # All others depend on the page, or on its folder.
                if plain[:1] == "/" or (":" in plain and plain[0] != "?"):
                    self.known[href] = joined
                    self._joined.count += 1
                return joined
        # The link itself, not what stands before its fragment: a blank before the # is a part of the path.
        return canonical(href, self._base)

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
