"""What selectors find on a page."""

import re
from collections.abc import Callable, Iterator
from typing import Final, Protocol, overload

from turbohtml import Document, Element, Text

_NUMBER: Final = re.compile(r"[-+\N{MINUS SIGN}]?\d[\d.,'\u2019\s]*")
_LINKS: Final = ("href", "src", "action", "data")
_PSEUDO: Final = re.compile(r"::(?:text|attr\(\s*([^\s()]+)\s*\))\s*(?=,|\Z)")
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


Join = Callable[[str], str | None]
"""A link of the document as written, made absolute; None when it leads nowhere a crawler goes."""


class Node(Protocol):
    def text(self) -> str: ...
    def exact(self) -> str: ...
    def attribute(self, name: str) -> str | None: ...
    def html(self) -> str: ...
    def css(self, selector: str) -> "list[Node]": ...


class Selected:
    """Elements in document order, perhaps none. `text`, `number`, `href` and `attr` are about the first of them."""

    __slots__ = ("_join", "_nodes")

    def __init__(self, nodes: "list[Node]", join: Join) -> None:
        self._nodes = nodes
        self._join = join

    def __len__(self) -> int:
        return len(self._nodes)

    def __iter__(self) -> "Iterator[Selected]":
        return (Selected([node], self._join) for node in self._nodes)

    @overload
    def __getitem__(self, at: int) -> "Selected": ...
    @overload
    def __getitem__(self, at: slice) -> "Selected": ...
    def __getitem__(self, at: int | slice) -> "Selected":
        found = self._nodes[at]
        return Selected(found if isinstance(found, list) else [found], self._join)

    @property
    def text(self) -> str:
        """White space folded; empty when nothing was found."""
        return _fold(self._nodes[0].text()) if self._nodes else ""

    @property
    def exact(self) -> str:
        """The text of the first with every blank and line break as it stands, which is what `pre` and `code` need."""
        return self._nodes[0].exact() if self._nodes else ""

    @property
    def exacts(self) -> list[str]:
        """The same of each."""
        return [node.exact() for node in self._nodes]

    @property
    def texts(self) -> list[str]:
        """Of each."""
        return [_fold(node.text()) for node in self._nodes]

    @property
    def number(self) -> float | None:
        """The first number in the text, `1.234,56 €` and `$1,234.56` alike; None when there is none."""
        return number_in(self.text)

    @property
    def href(self) -> str | None:
        """Where the first one links to, made absolute; None when it does not, or not to an http or https URL."""
        return _absolute(self._nodes[0], self._join) if self._nodes else None

    @property
    def hrefs(self) -> list[str]:
        """Where they link to, those that do."""
        return [href for node in self._nodes if (href := _absolute(node, self._join)) is not None]

    def attr(self, name: str, default: str = "") -> str:
        """An attribute of the first, as it is written."""
        found = self._nodes[0].attribute(name) if self._nodes else None
        return default if found is None else found

    @property
    def html(self) -> str:
        """The first as HTML."""
        return self._nodes[0].html() if self._nodes else ""

    def css(self, selector: str) -> "Selected":
        """Among what is inside of these."""
        return Selected([inner for node in self._nodes for inner in node.css(selector)], self._join)

    def re(self, pattern: "str | re.Pattern[str]") -> list[str]:
        """All matches in the texts: the first group where there is one, else the whole."""
        return [found for text in self.texts for found in matches(pattern, text)]

    def __repr__(self) -> str:
        return f"<{len(self)} selected{': ' + repr(self.text[:60]) if self else ''}>"


def matches(pattern: "str | re.Pattern[str]", text: str) -> list[str]:
    return [found[1] if found.re.groups else found[0] for found in re.finditer(pattern, text)]


def number_in(text: str) -> float | None:
    found = _NUMBER.search(text)
    if found is None:
        return None
    digits = re.sub(r"['\u2019\s]", "", found[0].replace("\N{MINUS SIGN}", "-")).rstrip(".,")
    last = max(digits.rfind("."), digits.rfind(","))
    if last >= 0:
        mark = digits[last]
        # A mark that comes more than once, or once before exactly three digits with no other mark, groups thousands.
        other = "," if mark == "." else "."
        grouping = digits.count(mark) > 1 or (mark == "," and len(digits) - last == 4 and other not in digits)
        whole, part = (digits, "") if grouping else (digits[:last], digits[last + 1 :])
        digits = whole.replace(".", "").replace(",", "") + (f".{part}" if part else "")
    return float(digits)


def _absolute(node: Node, join: Join) -> str | None:
    for name in _LINKS:
        value = node.attribute(name)
        if value is not None:
            return join(value)
    return join(node.text().strip()) if isinstance(node, TextNode) else None


def _fold(text: str) -> str:
    return " ".join(text.split())


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


class TextNode:
    """What `//a/@href` and `//p/text()` find."""

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


def select(root: Document | Element, selector: str) -> list[Node]:
    """What a CSS selector finds. `::text` and `::attr(name)` at its end are the texts directly in the elements, and
    their attributes. ValueError when it is none."""
    asked = {found[1] or "" for found in _PSEUDO.finditer(selector)} if "::" in selector else None
    if not asked:
        return [ElementNode(element) for element in _selected(root, selector)]
    parts = selector.count("::")
    if len(asked) > 1 or parts != len(_PSEUDO.findall(selector)) or parts != _PSEUDO.sub("", selector).count(",") + 1:
        raise ValueError(f"{selector!r} asks for different things at once: select them one after the other")
    elements = _selected(root, _PSEUDO.sub("", selector))
    name = asked.pop()
    if name:
        return [TextNode(value) for element in elements if (value := element.attr(name)) is not None]
    return [TextNode(child.data) for element in elements for child in element if isinstance(child, Text)]


def _selected(root: Document | Element, selector: str) -> list[Element]:
    try:
        return root.select(selector)
    except ValueError as error:
        raise ValueError(f"{selector!r} is no CSS selector: {error}") from error
