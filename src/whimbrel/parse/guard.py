"""Is the tree of a document cheap for certain? Asked before lexbor, which cannot be interrupted, gets to see it.

Three things make a tree dear, each by rules of the HTML standard. All bounds are upper bounds that hold for any bytes:

- Depth. A start tag looks through the open elements: 12,000 tags inside each other take half a second, and the time
  grows with the square. So the number of tags is limited.
- Formatting elements (`b`, `font`, …) that stay open are made anew in every paragraph after them (§13.2.4.3): 4,000
  tags become four million elements, 1.4 GB. Without attributes only three equal ones are kept; with an `a` only one.
- Attributes. Each is compared with all others of its element: 20,000 take a second.
"""

import re
from typing import Final

import numpy as np

_TAG: Final = ord("<")
_MAX_TAGS: Final = 12_000
_MAX_CLONED: Final = 300_000
"""Elements that formatting may add: about 0.3 s and 110 MB."""
_MAX_CLONED_BYTES: Final = 128 * 1024 * 1024
"""Of their attributes."""
_MAX_ATTRIBUTES: Final = 12_000
_SEPARATORS: Final = b" \n\t\r\f/\"'"

_FORMATTING: Final = rb"(?:b|big|code|em|font|i|nobr|s|small|strike|strong|tt|u)"
_FORMATTED: Final = re.compile(rb"<" + _FORMATTING + rb"[\s/]", re.IGNORECASE)
_VALUE: Final = rb"(?:\"[^\"<>]*+\"|'[^'<>]*+'|[^\s\"'<>=`/]++)"
_PLAIN_ATTRIBUTES: Final = rb"(?:\s++[a-zA-Z][a-zA-Z0-9_:-]*+(?:=" + _VALUE + rb")?+)*+\s*+"
_CLOSED: Final = re.compile(
    rb"<(" + _FORMATTING + rb")(?=\s)" + _PLAIN_ATTRIBUTES + rb">"
    rb"(?:[^<]*+</?(?:span|a|sub|sup|img|br|abbr)" + _PLAIN_ATTRIBUTES + rb"/?>){0,64}+[^<]*+</\1[ \t\n\f\r]*+>",
    re.IGNORECASE,
)  # fmt: skip
"""A formatting element that is certainly closed: a well-formed tag, words and inline elements, its own end tag.
Nothing in between can keep the end tag from finding it (§13.2.6.4.7, the adoption agency). A vertical tab is white
space to `\\s` and part of the name to HTML, so the end tag spells its blanks out."""
_CROWDED: Final = re.compile(
    rb"<[a-zA-Z][^\s/>]*+(?:[\s/]*+[^\s/>][^\s/>=]*+(?:\s*+=\s*+(?:\"[^\"]*+\"|'[^']*+'|(?![\"'])[^\s>]*+))?+){200}"
)
_MERGED: Final = re.compile(rb"<(?:html|body)[\s/]", re.IGNORECASE)
"""Their later tags add attributes to the first."""


def is_cheap(body: bytes) -> bool:
    """Whether building the tree takes less than about a second and 300 MB, whatever the bytes."""
    # Four times as fast as `bytes.count`.
    tags = int(np.count_nonzero(np.frombuffer(body, np.uint8) == _TAG))
    return tags <= _MAX_TAGS and _has_few_attributes(body) and _clones_little(body, tags)


def _has_few_attributes(body: bytes) -> bool:
    # Different names take four bytes each, with what is between them.
    if len(body) <= 4 * _MAX_ATTRIBUTES:
        return True
    # Two attributes have one of these between them. Words have too, so that a long text is looked at more closely.
    separators = len(body) - len(body.translate(None, _SEPARATORS))
    if separators <= _MAX_ATTRIBUTES:
        return True
    return _CROWDED.search(body) is None and len(_MERGED.findall(body)) <= 8


def _clones_little(body: bytes, tags: int) -> bool:
    # With half of the tags left open and the other half paragraphs:
    if tags * tags <= 4 * _MAX_CLONED and tags * len(body) <= 2 * _MAX_CLONED_BYTES:
        return True
    left_open = len(_FORMATTED.findall(body)) - len(_CLOSED.findall(body))
    if left_open <= 0:
        return True
    return left_open * tags <= _MAX_CLONED and _open_bytes(body) * tags <= _MAX_CLONED_BYTES


def _open_bytes(body: bytes) -> int:
    """What the formatting tags that may stay open have in attributes. A tag that is not well-formed may reach far."""
    rest, total = _CLOSED.sub(b"", body), 0
    tag = re.compile(rb"<" + _FORMATTING + rb"(?=\s)" + _PLAIN_ATTRIBUTES + rb">", re.IGNORECASE)
    for start in _FORMATTED.finditer(rest):
        whole = tag.match(rest, start.start())
        if whole is None:
            return len(body)
        total += whole.end() - whole.start()
    return total
