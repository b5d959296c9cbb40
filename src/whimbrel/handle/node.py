"""What CSS selectors and XPath expressions find in a document: elements, texts and attributes."""

from itertools import pairwise
from typing import Any, Final, Protocol

from turbohtml import Comment, Document, Element, Text

from whimbrel.handle.css import Asked, asked_of
from whimbrel.handle.number import xpath_number

_APART: Final = frozenset(
    (
        *("table", "caption", "tr", "td", "th", "ul", "ol", "menu", "dir", "li", "blockquote", "form", "fieldset"),
        *("legend", "center", "dialog", "hgroup", "listing", "xmp", "select", "optgroup", "option", "textarea"),
        *("button", "p", "div", "h1", "h2", "h3", "h4", "h5", "h6", "dt", "dd", "dl", "pre", "section", "article"),
        *("aside", "nav", "header", "footer", "main", "figure", "figcaption", "address", "details", "summary"),
        *("tbody", "thead", "tfoot", "br", "hr"),
    )
)
"""Where one of these begins or ends, a word does."""


class Node(Protocol):
    def text(self) -> str: ...
    def exact(self) -> str: ...
    def attribute(self, name: str) -> str | None: ...
    def html(self) -> str: ...
    def css(self, selector: str) -> "list[Node]": ...
    def xpath(self, expression: str) -> "list[Node]": ...


class ElementNode:
    """An element."""

    __slots__ = ("_element",)

    def __init__(self, element: Element) -> None:
        self._element = element

    def text(self) -> str:
        element = self._element
        # Most have nothing but words, which is seen much faster than what kind of elements there are.
        if next(element.iter_elements(), None) is None or next(element.iter_elements(_APART), None) is None:
            return element.text
        return " ".join(element.stripped_strings)

    def exact(self) -> str:
        return self._element.text

    def attribute(self, name: str) -> str | None:
        return self._element.attr(name)

    def html(self) -> str:
        return self._element.html

    def css(self, selector: str) -> list[Node]:
        return select(self._element, selector)

    def xpath(self, expression: str) -> list[Node]:
        return evaluate(self._element, expression)


class TextNode:
    """What `//a/@href`, `//p/text()` and `p::text` find."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def text(self) -> str:
        return self._text

    def exact(self) -> str:
        return self._text

    def attribute(self, name: str) -> str | None:  # noqa: ARG002
        return None

    def html(self) -> str:
        return self._text

    def css(self, selector: str) -> list[Node]:  # noqa: ARG002
        return []

    def xpath(self, expression: str) -> list[Node]:  # noqa: ARG002
        return []


def select(root: Document | Element, selector: str) -> list[Node]:
    """What a CSS selector finds, in document order. `::text` and `::attr(name)` at its end are the texts directly in
    the elements, without those of white space alone, and their attributes. ValueError when it is none."""
    asked = asked_of(selector)
    if asked is None:
        return [ElementNode(element) for element in _selected(root, selector, selector)]
    if asked.attribute:
        values = (element.attr(asked.attribute) for element in _bearers(root, asked, selector))
        return [TextNode(value) for value in values if value is not None]
    return [TextNode(text.data) for text in _texts(root, asked, selector) if not text.data.isspace()]


def evaluate(root: Document | Element, expression: str) -> list[Node]:
    """What an XPath 1.0 expression finds. ValueError when it is none."""
    try:
        found = root.xpath(expression)
    except ValueError as error:
        raise ValueError(f"{expression!r} is no XPath expression: {error}") from error
    return [_node(one) for one in (found if isinstance(found, list) else [found])]


def _selected(root: Document | Element, selector: str, whole: str) -> list[Element]:
    try:
        return root.select(selector)
    except ValueError as error:
        raise ValueError(f"{whole!r} is no CSS selector: {error}") from error


def _bearers(root: Document | Element, asked: Asked, whole: str) -> list[Element]:
    """The elements whose attribute is asked for."""
    own = [root] if "" in asked.deep and isinstance(root, Element) else []
    selectors = [asked.near] if asked.near else []
    selectors += [f"{head}, {head} *" if head else "*" for head in asked.deep]
    return own + _selected(root, ", ".join(selectors), whole)


def _texts(root: Document | Element, asked: Asked, whole: str) -> list[Text]:
    near = _selected(root, asked.near, whole) if asked.near else []
    if not asked.deep and not _is_nested(near):
        return [child for element in near for child in element if isinstance(child, Text)]
    if "" in asked.deep:
        return [node for node in root.descendants if isinstance(node, Text)]
    holders = set(near)
    for element in _selected(root, ", ".join(asked.deep), whole) if asked.deep else ():
        holders.add(element)
        holders.update(element.iter_elements())
    return [node for node in root.descendants if isinstance(node, Text) and node.parent in holders]


def _is_nested(elements: list[Element]) -> bool:
    """In document order, what comes after an element that has others inside is inside of it."""
    return any(outer in inner.ancestors for outer, inner in pairwise(elements))


def _node(found: Any) -> Node:
    if isinstance(found, Document):
        found = found.root or ""
    if isinstance(found, Element):
        return ElementNode(found)
    return TextNode(found.data if isinstance(found, Comment | Text) else _written(found))


def _written(value: Any) -> str:
    """Numbers and truths of XPath, as XPath writes them."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return xpath_number(value) if isinstance(value, float) else str(value)
