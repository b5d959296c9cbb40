"""What selectors find on a page."""

import re
from collections.abc import Callable, Iterator
from typing import Final, overload

from whimbrel.handle.node import Node, TextNode
from whimbrel.handle.number import number_in

_LINKS: Final = ("href", "xlink:href", "src", "action", "data")

Join = Callable[[str], str | None]
"""A link of the document as written, made absolute; None when it leads nowhere a crawler goes."""


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
        """The first number in the text, `1.234,56 €` and `$1,234.56` alike; None when there is none, or when it is too
        large for a float."""
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
        """Among what is inside of these. `::text` and `::attr(name)` with nothing before them are about these
        themselves and all that is inside."""
        return Selected([inner for node in self._nodes for inner in node.css(selector)], self._join)

    def xpath(self, expression: str) -> "Selected":
        """What an XPath 1.0 expression finds from each of these: begin it with `.`, since `//a` looks in the whole
        document. ValueError when it is none."""
        return Selected([found for node in self._nodes for found in node.xpath(expression)], self._join)

    def get(self, default: str | None = None) -> str | None:
        """The first as Scrapy gives it: an element as HTML, a text or an attribute as it stands."""
        return self._nodes[0].html() if self._nodes else default

    def getall(self) -> list[str]:
        """The same of each."""
        return [node.html() for node in self._nodes]

    def re(self, pattern: "str | re.Pattern[str]") -> list[str]:
        """All matches in the texts: the first group where there is one, else the whole."""
        return [found for text in self.texts for found in matches(pattern, text)]

    def __repr__(self) -> str:
        return f"<{len(self)} selected{': ' + repr(self.text[:60]) if self else ''}>"


def matches(pattern: "str | re.Pattern[str]", text: str) -> list[str]:
    return [found[1] if found.re.groups else found[0] for found in re.finditer(pattern, text)]


def _absolute(node: Node, join: Join) -> str | None:
    for name in _LINKS:
        value = node.attribute(name)
        if value is not None:
            return join(value)
    return join(node.text().strip()) if isinstance(node, TextNode) else None


def _fold(text: str) -> str:
    return " ".join(text.split())
