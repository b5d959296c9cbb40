"""The tree of an HTML document, or of its beginning where all of it would take too much memory.

A tree grows with its document, but for two rules of the standard that turn few bytes into many elements. Formatting
that stays open is made anew in every paragraph after it (HTML §13.2.4.3): 20,000 tags become five million elements,
600 MB. And later tags of `html` and `body` add their attributes to the first (§13.2.6.4.7): 10,000 take 1.2 GB.

So a large document is fed to the parser in pieces, and the thread is asked after each what time it has taken. Memory
cannot grow without time, so the process is asked for its memory only after some milliseconds, which few documents take:
asking costs as much as reading 8 KB. All that costs a third more than reading at once, and holds for whatever else a
document may come up with. A manual in one page, 8 MB with 360,000 tags, takes 62 MB.

turbohtml 1.15.4 takes a `template` in SVG or MathML for one of HTML, and crashes on some pages where such a one ends.
Where a document has both, its templates become applets with a mark, which nothing can leave either: what is open inside
of one ends with it (§13.2.6.4.7, applet).
"""

import re
import time
from typing import Final, Self

import numpy as np
import numpy.typing as npt
from turbohtml import Document, Element, IncrementalParser, parse

from whimbrel.memory import ResidentMemory

TEMPLATES: Final = ("template", "applet")
"""The tags of what may be a template."""
MAX_BYTES: Final = 6_000_000
"""Of a document; what comes after them is not read. A single text takes 24 bytes for each of its letters."""
_MOST_BYTES: Final = 95_000_000
_MOST_S: Final = 0.7
_FEW_TAGS: Final = 3_000
"""They make at most 1.5 million elements, 180 MB."""
_FEW_BYTES: Final = 3 * _FEW_TAGS
_MANY_BYTES: Final = 100_000
"""A tag of this size may have 50,000 attributes, which are copied with it."""
_UNIT_TAGS: Final = 8
_UNIT_BYTES: Final = 1_600
"""Tags with the words after them are usually smaller."""
_FIRST_UNITS: Final = 32
_PIECE_UNITS: Final = 160
_PIECE_S: Final = 0.002
"""A piece that took longer is followed by a small one: it has taken some megabytes, where 100 µs are usual."""
_UNASKED_S: Final = 0.004
"""Of reading, before the process is asked for its memory."""
_PIECE_CHARS: Final = 1 << 18
_TAG: Final = ord("<")
_TO_LOWER: Final = np.uint8(0x20)
_TEMPLATE_TAG: Final = re.compile(r"<(?:(/)template|template)(?=[\s/>])", re.IGNORECASE)
_MARK: Final = "whimbrel-template"


def tree_of(text: str, body: bytes) -> tuple[Document, bool]:
    """`body` is the same text in UTF-8; what is no UTF-8 may still be in it. True when the tree is of all of it."""
    if len(body) <= _FEW_BYTES:
        return parse(_renamed(text) if _mixes(body) else text, positions=False), True
    letters = np.frombuffer(body, np.uint8)
    # Four times as fast as to count them in the text.
    tags = letters == _TAG
    if _may_have_template(letters, tags) and _mixes(body):
        text = _renamed(text)
        body = text.encode("utf-8", "replace")
        tags = np.frombuffer(body, np.uint8) == _TAG
    if len(body) <= _MANY_BYTES and int(np.count_nonzero(tags)) <= _FEW_TAGS:
        return parse(text, positions=False), True
    return _tree_in_pieces(body, np.flatnonzero(tags)[::_UNIT_TAGS].astype(np.uint32))


def is_template(element: Element) -> bool:
    """Of one of `TEMPLATES`: whether what it holds is no part of the document."""
    return element.tag == TEMPLATES[0] or element.attr(_MARK) is not None


def _tree_in_pieces(body: bytes, units: npt.NDArray[np.uint32]) -> tuple[Document, bool]:
    """A few tags first, then more and more, as long as they take little memory and are of the usual size: what an open
    tag costs shows in the tags after it."""
    parser, at, begin, count = IncrementalParser(positions=False), 0, 0, _FIRST_UNITS
    with _Cost() as cost:
        while begin < len(body):
            count, end = _next_piece(body, units, at, begin, count)
            # Cut before a tag, where no character can be cut in two.
            piece = body[begin:end].decode("utf-8", "replace")
            for place in range(0, len(piece), _PIECE_CHARS):
                parser.feed(piece[place : place + _PIECE_CHARS])
                if cost.is_too_much():
                    return parser.close(), False
            at, begin = at + count, end
            count = 1 if cost.step_s > _PIECE_S else min(2 * count, _PIECE_UNITS)
    return parser.close(), True


class _Cost:
    """What reading has taken so far."""

    def __enter__(self) -> Self:
        self._memory: ResidentMemory | None = None
        self._begun_bytes = 0
        self._now_s = self._asked_s = time.thread_time()
        self._until_s = self._now_s + _MOST_S
        self.step_s = 0.0
        """Of time, since it was asked before."""
        return self

    def __exit__(self, *_: object) -> None:
        if self._memory is not None:
            self._memory.close()

    def is_too_much(self) -> bool:
        now_s = time.thread_time()
        self.step_s, self._now_s = now_s - self._now_s, now_s
        if now_s - self._asked_s < _UNASKED_S:
            return False
        self._asked_s = now_s
        return now_s > self._until_s or self._grown_bytes() > _MOST_BYTES

    def _grown_bytes(self) -> int:
        """Since it was asked first: the milliseconds before that are worth a few megabytes."""
        if self._memory is None:
            self._memory = ResidentMemory()
            self._begun_bytes = self._memory.bytes()
        return self._memory.bytes() - self._begun_bytes


def _next_piece(body: bytes, units: npt.NDArray[np.uint32], at: int, begin: int, count: int) -> tuple[int, int]:
    """So many units of the next as have the usual size together, and where they end."""
    while True:
        end = int(units[at + count]) if at + count < len(units) else len(body)
        if count == 1 or end - begin <= _UNIT_BYTES * count:
            return count, end
        count //= 2


def _may_have_template(letters: npt.NDArray[np.uint8], tags: npt.NDArray[np.bool_]) -> bool:
    """Whether a tag begins with `te`, in either case."""
    begins = tags[:-2] & ((letters[1:-1] | _TO_LOWER) == ord("t"))
    return bool(np.any(begins & ((letters[2:] | _TO_LOWER) == ord("e"))))


def _mixes(body: bytes) -> bool:
    """Whether there may be templates and SVG or MathML in it."""
    small = body.lower()
    return b"<template" in small and (b"<svg" in small or b"<math" in small)


def _renamed(text: str) -> str:
    return _TEMPLATE_TAG.sub(lambda tag: "</applet" if tag[1] else f"<applet {_MARK}", text)
