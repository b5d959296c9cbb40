"""The words of an HTML document that a reader sees: a line for each block, an empty one between paragraphs, `pre` as it
stands."""

import re
from typing import Final

from turbohtml import Document, Element

UNSEEN: Final = frozenset(("noscript", "iframe"))
"""Their text is not the reader's to see. The library leaves out scripts, styles and the like by itself."""
BLOCKS: Final = frozenset(
    (
        *("table", "caption", "td", "th", "ul", "ol", "menu", "dir", "li", "blockquote", "form", "fieldset"),
        *("legend", "center", "dialog", "hgroup", "listing", "xmp", "select", "optgroup", "option", "textarea"),
        "button",
    )
)
"""Blocks of text to a reader. To the library some are words in a line, and others are drawn, with frames and bullets,
which a hostile page can make long: it gets all of them as `div`."""
_GAP: Final = re.compile(r"\n\n\n+")
"""Written so that the search is for three of them, which is three times as fast."""


def html_text(document: Document) -> str:
    """It changes the document."""
    found = list(document.iter_elements(("template", *UNSEEN, *BLOCKS)))
    blocks = [element for element in found if element.tag in BLOCKS]
    return seen_text(document, [element for element in found if element.tag not in BLOCKS], blocks)


def seen_text(document: Document, unseen: list[Element], blocks: list[Element]) -> str:
    """For whoever has walked through the document already. It changes the document."""
    for element in unseen:
        element.decompose()
    for element in blocks:
        element.tag = "div"
    text = document.to_text()
    if "\xa0" in text:
        text = text.replace("\xa0", " ")
    return _GAP.sub("\n\n", text).strip()
