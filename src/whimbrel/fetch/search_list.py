"""The domains in which the system searches for short names: resolv.conf(5)."""

import os
import re
from pathlib import Path
from typing import Final, NamedTuple

_MOST_DOTS: Final = 15
"""As the C library has it."""
_DOTS: Final = re.compile(r"ndots:([0-9]{1,4})")


class SearchList(NamedTuple):
    domains: tuple[str, ...] = ()
    dots: int = 1
    """A name with that many dots, or more, is first looked for as it is."""

    def candidates(self, host: str) -> tuple[str, ...]:
        """What to ask for, in this order, until a name has an address. A trailing dot says that a name is whole."""
        whole = host.removesuffix(".")
        longer = () if whole != host else tuple(f"{whole}.{domain}" for domain in self.domains)
        return (whole, *longer) if whole.count(".") >= self.dots else (*longer, whole)


def system_search(path: str) -> SearchList:
    """Of a file as the system has it; none when there is no such file, or no path."""
    if not path:
        return SearchList()
    try:
        text = Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        text = ""
    return read_search(text)


def read_search(text: str) -> SearchList:
    """The last `search` or `domain` counts, unless the environment (LOCALDOMAIN) says otherwise."""
    domains: list[str] = []
    dots = 1
    for line in text.splitlines():
        words = line.split()
        if not words:
            continue
        if words[0] in ("search", "domain"):
            domains = words[1:]
        elif words[0] == "options":
            for found in map(_DOTS.fullmatch, words[1:]):
                dots = dots if found is None else min(_MOST_DOTS, int(found[1]))
    named = os.environ.get("LOCALDOMAIN", "").split() or domains
    names = (domain.removesuffix(".").lower() for domain in named)
    return SearchList(tuple(domain for domain in names if domain), dots)
