"""The tree of an HTML document, or of its beginning where all of it would take too much memory.

A tree grows with its document, but for two rules of the standard that turn few bytes into many elements. Formatting
that stays open is made anew in every paragraph after it (HTML §13.2.4.3): 20,000 tags become five million elements,
600 MB. And later tags of `html` and `body` add their attributes to the first (§13.2.6.4.7): 10,000 take 1.2 GB.

So a document with many tags is fed to the parser in pieces, and the process is asked what it has taken meanwhile. That
costs a fifth more, and holds for whatever else a document may come up with. A manual in one page, 8 MB with 360,000
tags, takes 62 MB.
"""

from typing import Final

import numpy as np
from turbohtml import Document, IncrementalParser, parse

from whimbrel.memory import ResidentMemory

MAX_BYTES: Final = 6_000_000
"""Of a document; what comes after them is not read. A single text takes 24 bytes for each of its letters."""
_MOST_BYTES: Final = 120_000_000
_FEW_TAGS: Final = 3_000
"""They make at most 1.5 million elements, 180 MB."""
_FEW_CHARS: Final = 3 * _FEW_TAGS
_MANY_CHARS: Final = 2_000_000
_PIECE_CHARS: Final = 4096
_LONG_PIECE_CHARS: Final = 1 << 18
_TAG: Final = ord("<")


def tree_of(text: str, body: bytes) -> tuple[Document, bool]:
    """`body` is what the text was decoded from. True when the tree is of all of it."""
    if len(text) <= _FEW_CHARS or (len(text) <= _MANY_CHARS and _tags(body) <= _FEW_TAGS):
        return parse(text, positions=False), True
    parser = IncrementalParser(positions=False)
    with ResidentMemory() as memory:
        begun_bytes, at, length = memory.bytes(), 0, _PIECE_CHARS
        while at < len(text):
            end = at + length
            # Without a tag there is no element. A reference that does not end is looked at again with every piece.
            length = min(2 * length, _LONG_PIECE_CHARS) if text.find("<", at, end) < 0 else _PIECE_CHARS
            parser.feed(text[at:end])
            if memory.bytes() - begun_bytes > _MOST_BYTES:
                return parser.close(), False
            at = end
    return parser.close(), True


def _tags(body: bytes) -> int:
    # Four times as fast as to count them in the text.
    return int(np.count_nonzero(np.frombuffer(body, np.uint8) == _TAG))
