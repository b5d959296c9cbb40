"""Robots meta tags and X-Robots-Tag: what a page asks of us beyond robots.txt.

Only words that ask for something are reported; `all`, `index` and `follow` ask for nothing and take nothing back.
"""

import re
from collections.abc import Iterable
from typing import Final

from whimbrel.qualify.robots_lines import product_token

_WORDS: Final = frozenset(
    {"nofollow", "noindex", "noarchive", "nocache", "nosnippet", "noimageindex", "notranslate", "noai", "noimageai"}
)
_VALUED: Final = frozenset({"unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"})
"""Words that have a value after a colon, so that they are no agents."""
_AGENT: Final = re.compile(r"(?=[^/]*[a-z])[\w.-]+(?:/\S*)?")
"""With a letter in it: the hours of a date end in a colon, too."""


def meta_names(agent: str) -> tuple[str, ...]:
    """The names of meta tags that speak to us, in lower case."""
    return ("robots", product_token(agent))


def directives(values: Iterable[tuple[str, str]], agent: str) -> tuple[str, ...]:
    """Of pairs (agent or empty, content); `robots` as the name of a meta tag is everybody. Sorted, each once."""
    ours = ("", *meta_names(agent))
    found: set[str] = set()
    for name, content in values:
        if name.strip().lower() in ours:
            for word in content.lower().split(","):
                found |= _meaning(word.strip())
    return tuple(sorted(found))


def header_directives(x_robots_tag: str, agent: str) -> tuple[str, ...]:
    """Of the value of X-Robots-Tag. An agent's name holds for the words after it, up to the next name.

    Where several headers were joined into one value, nobody can tell whether a word after `otherbot: none` was in a
    header of its own; call this once per header line where that matters.
    """
    if not x_robots_tag:
        return ()
    scope = ""
    pairs = []
    for part in x_robots_tag.lower().split(","):
        name, colon, rest = (piece.strip() for piece in part.partition(":"))
        if not colon:
            rest = name
        elif name in _VALUED:
            continue
        elif _AGENT.fullmatch(name):
            scope = product_token(name)
        pairs.append((scope, rest))
    return directives(pairs, agent)


def _meaning(word: str) -> frozenset[str]:
    if word == "none":
        return frozenset({"nofollow", "noindex"})
    return _WORDS & {word}
