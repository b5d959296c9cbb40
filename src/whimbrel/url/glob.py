"""Globs over whole URLs, in time linear in the URL. `*` stands for any text, also across slashes; nothing else is
special, since `?` and `[` are ordinary in URLs."""

from collections.abc import Iterable
from string import printable
from typing import Final
from urllib.parse import quote

_ASCII: Final = printable.strip()


class Globs:
    """Many globs as one question. Whole URLs cost the same however many they are; beginnings and ends are compared
    without a step in Python."""

    __slots__ = ("_heads", "_others", "_pieces", "_tails", "_whole")

    def __init__(self, globs: Iterable[str]) -> None:
        whole: set[str] = set()
        heads: list[str] = []
        tails: list[str] = []
        pieces: list[str] = []
        others: list[tuple[str, tuple[str, ...], str]] = []
        for glob in globs:
            # URLs are ASCII: a glob may spell what they escape.
            head, *rest = quote(glob, safe=_ASCII).split("*")
            middle, tail = tuple(piece for piece in rest[:-1] if piece), rest[-1] if rest else ""
            if not rest:
                whole.add(head)
            elif not middle and not tail:
                heads.append(head)
            elif not middle and not head:
                tails.append(tail)
            elif not head and not tail and len(middle) == 1:
                pieces.append(middle[0])
            else:
                others.append((head, middle, tail))
        self._whole = frozenset(whole)
        self._heads, self._tails = tuple(heads), tuple(tails)
        self._pieces, self._others = tuple(pieces), tuple(others)

    def match(self, text: str) -> bool:
        """Whether some glob matches the whole text."""
        if text in self._whole or text.startswith(self._heads) or text.endswith(self._tails):
            return True
        for piece in self._pieces:
            if piece in text:
                return True
        return any(_matches(text, *parts) for parts in self._others) if self._others else False


def _matches(text: str, head: str, middle: tuple[str, ...], tail: str) -> bool:
    """The leftmost place of each piece leaves the most room for the next, so there is never a reason to go back."""
    if not text.startswith(head) or not text.endswith(tail):
        return False
    at, end = len(head), len(text) - len(tail)
    for piece in middle:
        at = text.find(piece, at, end)
        if at < 0:
            return False
        at += len(piece)
    return at <= end
