"""What selectors find on a page, whichever library looked for it."""

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final, Protocol, overload

from whimbrel.url import Url, resolve

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

_NUMBER: Final = re.compile(r"[-+\N{MINUS SIGN}]?\d[\d.,'\u2019\s]*")
_LINKS: Final = ("href", "src", "action", "data")


class Node(Protocol):
    def text(self) -> str: ...
    def attribute(self, name: str) -> str | None: ...
    def html(self) -> str: ...
    def css(self, selector: str) -> "list[Node]": ...


class Selected:
    """Elements in document order, perhaps none. `text`, `number`, `href` and `attr` are about the first of them."""

    def __init__(self, nodes: "list[Node]", base: Callable[[], Url]) -> None:
        """`base` is asked for when a link has to be made absolute, and not before."""
        self._nodes = nodes
        self._base = base

    def __len__(self) -> int:
        return len(self._nodes)

    def __iter__(self) -> "Iterator[Selected]":
        return (Selected([node], self._base) for node in self._nodes)

    @overload
    def __getitem__(self, at: int) -> "Selected": ...
    @overload
    def __getitem__(self, at: slice) -> "Selected": ...
    def __getitem__(self, at: int | slice) -> "Selected":
        found = self._nodes[at]
        return Selected(found if isinstance(found, list) else [found], self._base)

    @property
    def text(self) -> str:
        """White space folded; empty when nothing was found."""
        return _fold(self._nodes[0].text()) if self._nodes else ""

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
        return _absolute(self._nodes[0], self._base()) if self._nodes else None

    @property
    def hrefs(self) -> list[str]:
        """Where they link to, those that do."""
        base = self._base() if self._nodes else None
        found = [_absolute(node, base) for node in self._nodes if base is not None]
        return [href for href in found if href is not None]

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
        return Selected([inner for node in self._nodes for inner in node.css(selector)], self._base)

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


def _absolute(node: Node, base: Url) -> str | None:
    for name in _LINKS:
        value = node.attribute(name)
        if value is not None:
            found = resolve(base, value)
            return None if found is None else found.text
    found = resolve(base, node.text().strip()) if isinstance(node, TextNode) else None
    return None if found is None else found.text


def _fold(text: str) -> str:
    return " ".join(text.split())


class LexborElement:
    """By CSS."""

    __slots__ = ("_node",)

    def __init__(self, node: "LexborNode") -> None:
        self._node = node

    def text(self) -> str:
        return self._node.text(separator=" ")

    def attribute(self, name: str) -> str | None:
        attributes = self._node.attributes
        return (attributes[name] or "") if name in attributes else None

    def html(self) -> str:
        return self._node.html or ""

    def css(self, selector: str) -> list[Node]:
        return [LexborElement(node) for node in self._node.css(selector)]


class LxmlElement:
    """By XPath."""

    __slots__ = ("_element",)

    def __init__(self, element: Any) -> None:
        self._element = element

    def text(self) -> str:
        return " ".join(self._element.itertext())

    def attribute(self, name: str) -> str | None:
        found: str | None = self._element.get(name)
        return found

    def html(self) -> str:
        from lxml import html

        found: str = html.tostring(self._element, encoding="unicode", with_tail=False)
        return found

    def css(self, selector: str) -> list[Node]:
        from selectolax.lexbor import LexborHTMLParser

        return [LexborElement(node) for node in LexborHTMLParser(self.html()).css(selector)]


class TextNode:
    """What `//a/@href` and `//p/text()` find."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def text(self) -> str:
        return self._text

    def attribute(self, name: str) -> str | None:  # noqa: ARG002
        return None

    def html(self) -> str:
        return self._text

    def css(self, selector: str) -> list[Node]:  # noqa: ARG002
        return []
