"""CSS selectors with `::text` or `::attr(name)` at their ends, which CSS does not have: taken apart."""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

_PSEUDO: Final = re.compile(r"""::(?:text|attr\(\s*(?:"([^"]*)"|'([^']*)'|([^\s()"']+))\s*\))\s*\Z""")
_TOKEN: Final = re.compile(r"""\\.|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|::|[][(),]""", re.DOTALL)
"""What matters to the structure of a selector; an escape and a text in quotes are one token each."""

_DEEP: Final = re.compile(r"(?:(?P<above>.*[^\s>+~])\s|\A)\s*+\*?\s*\Z", re.DOTALL)
"""What stands before `::` when it means the elements above it and all below them, as in Scrapy: `div ::text`,
`div *::text`; and with nothing above, the element that is asked."""


class Asked(NamedTuple):
    """What a selector asks for of the elements that it finds."""

    attribute: str
    """The name of an attribute; empty for texts."""
    near: str
    """Of the elements that this selector finds; empty when there are none."""
    deep: tuple[str, ...]
    """Of those that these find and of all below them; an empty one finds the element that is asked."""


def asked_of(selector: str) -> Asked | None:
    """None when it asks for the elements themselves. Raises ValueError when its parts ask for different things."""
    if "::" not in selector:
        return None
    heads: list[str] = []
    names: set[str | None] = set()
    for part in _parts(selector):
        found = _pseudo(part)
        names.add(None if found is None else found[1] or found[2] or found[3] or "")
        heads.append(part if found is None else part[: found.start()])
    name = names.pop()
    if names:
        raise ValueError(f"{selector!r} asks for different things at once: select them one after the other")
    if name is None:
        return None
    deep = [_DEEP.match(head) for head in heads]
    near = ", ".join(head for head, is_deep in zip(heads, deep, strict=True) if not is_deep)
    return Asked(name, near, tuple((found["above"] or "").strip() for found in deep if found))


def _pseudo(part: str) -> re.Match[str] | None:
    """The end of a part of a selector, where it asks for texts or attributes."""
    at = -1
    for token, depth in _tokens(part):
        if token[0] == "::" and depth == 0:
            at = token.start()
    return _PSEUDO.match(part, at) if at >= 0 else None


def _parts(selector: str) -> list[str]:
    """Between the commas that are neither in quotes nor in brackets."""
    commas = [token.start() for token, depth in _tokens(selector) if token[0] == "," and depth == 0]
    return [selector[begin + 1 : end] for begin, end in zip([-1, *commas], [*commas, len(selector)], strict=True)]


def _tokens(text: str) -> Iterator[tuple[re.Match[str], int]]:
    """Each with the number of brackets that are open before it."""
    depth = 0
    for token in _TOKEN.finditer(text):
        yield token, depth
        depth += (token[0] in "[(") - (token[0] in "])")
