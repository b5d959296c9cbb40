"""The words of an HTML document that a reader sees: a line for each block, an empty one between paragraphs, `pre` as it
stands."""

from typing import Final

from turbohtml import Document, Element

UNSEEN: Final = frozenset(("script", "style", "noscript", "noframes", "noembed", "iframe"))
"""Their text is not the reader's to see."""
BLOCKS: Final = frozenset(
    (
        *("table", "caption", "td", "th", "ul", "ol", "menu", "dir", "li", "blockquote", "form", "fieldset"),
        *("legend", "center", "dialog", "hgroup", "listing", "xmp", "select", "optgroup", "option", "textarea"),
        "button",
    )
)
"""Blocks of text to a reader. To the library some are words in a line, and others are drawn, with frames and bullets,
which a hostile page can make long: it gets all of them as `div`."""


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
    while "\n\n\n" in text:
        text = text.replace("\n\n\n", "\n\n")
    return text.strip()
