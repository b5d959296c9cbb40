"""The tree of an HTML document, or of its beginning where all of it would take too much memory.

A tree grows with its document, but for two rules of the standard that turn few bytes into many elements. Formatting
that stays open is made anew in every paragraph after it (HTML §13.2.4.3): 20,000 tags become five million elements,
600 MB. And later tags of `html` and `body` add their attributes to the first (§13.2.6.4.7): 10,000 take 1.2 GB.

So a document with many tags is fed to the parser in pieces, and the process is asked what it has taken meanwhile. That
costs a fifth more, and holds for whatever else a document may come up with. A manual in one page, 8 MB with 360,000
tags, takes 62 MB.
"""

from collections.abc import Iterator
from typing import Final

import numpy as np
from turbohtml import Document, IncrementalParser, parse

from whimbrel.memory import ResidentMemory

MAX_BYTES: Final = 6_000_000
"""Of a document; what comes after them is not read. A single text takes 24 bytes for each of its letters."""
_MOST_BYTES: Final = 120_000_000
_FEW_TAGS: Final = 3_000
"""They make at most 1.5 million elements, 180 MB."""
_FEW_BYTES: Final = 3 * _FEW_TAGS
_MANY_BYTES: Final = 2_000_000
_PIECE_TAGS: Final = 1_300
_PIECE_CHARS: Final = 1 << 18
_TAG: Final = ord("<")


def tree_of(text: str, body: bytes) -> tuple[Document, bool]:
    """`body` is the same text in UTF-8; what is no UTF-8 may still be in it. True when the tree is of all of it."""
    if len(body) <= _FEW_BYTES:
        return parse(text, positions=False), True
    # Four times as fast as to count them in the text.
    tags = np.frombuffer(body, np.uint8) == _TAG
    if len(body) <= _MANY_BYTES and int(np.count_nonzero(tags)) <= _FEW_TAGS:
        return parse(text, positions=False), True
    parser = IncrementalParser(positions=False)
    with ResidentMemory() as memory:
        begun_bytes = memory.bytes()
        for piece in _pieces(body, np.flatnonzero(tags)[_PIECE_TAGS::_PIECE_TAGS].tolist()):
            parser.feed(piece)
            if memory.bytes() - begun_bytes > _MOST_BYTES:
                return parser.close(), False
    return parser.close(), True


def _pieces(body: bytes, ends: list[int]) -> Iterator[str]:
    """Cut before tags, where no character can be cut in two."""
    begin = 0
    for end in (*ends, len(body)):
        piece = body[begin:end].decode("utf-8", "replace")
        begin = end
        for at in range(0, len(piece), _PIECE_CHARS):
            yield piece[at : at + _PIECE_CHARS]
