"""Data that pages carry for machines: JSON-LD and microdata."""

from collections.abc import Iterable
from typing import Any, Final

import msgspec
from turbohtml import Document, Element

from whimbrel.handle.node import ElementNode
from whimbrel.url import Url, resolve

_MOST_DEEP: Final = 32
_LINKED: Final = {"a": "href", "area": "href", "link": "href", "img": "src", "audio": "src", "video": "src",
                  "source": "src", "track": "src", "iframe": "src", "embed": "src", "object": "data"}  # fmt: skip
_SAID: Final = {"meta": "content", "data": "value", "meter": "value", "time": "datetime"}


def json_ld(scripts: Iterable[str]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for text in scripts:
        try:
            value = msgspec.json.decode(text.strip().encode("utf-8", "replace"))
        except (msgspec.DecodeError, RecursionError):
            continue
        for thing in value if isinstance(value, list) else [value]:
            graph = thing.get("@graph") if isinstance(thing, dict) else None
            found += [one for one in (graph if isinstance(graph, list) else [thing]) if isinstance(one, dict)]
    return found


def microdata(document: Document, base: Url) -> list[dict[str, Any]]:
    """HTML §5.2: items that are no property of another."""
    return [_item(node, base, 0) for node in document.select("[itemscope]:not([itemprop])")]


def _item(node: Element, base: Url, depth: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, name in (("itemtype", "type"), ("itemid", "id")):
        if value := node.attr(key):
            found[name] = value
    if depth < _MOST_DEEP:
        for child in _children(node):
            _gather(child, base, found, depth)
    return found


def _gather(node: Element, base: Url, found: dict[str, Any], depth: int) -> None:
    named, is_item = node.attr("itemprop"), node.attr("itemscope") is not None
    if named is not None:
        value = _item(node, base, depth + 1) if is_item else _value(node, base)
        for name in named.split():
            _put(found, name, value)
    if not is_item and depth < _MOST_DEEP:
        for child in _children(node):
            _gather(child, base, found, depth)


def _children(node: Element) -> list[Element]:
    return [child for child in node if isinstance(child, Element)]


def _put(found: dict[str, Any], name: str, value: Any) -> None:
    if name not in found:
        found[name] = value
    elif isinstance(found[name], list):
        found[name].append(value)
    else:
        found[name] = [found[name], value]


def _value(node: Element, base: Url) -> str:
    tag = node.tag
    if tag in _LINKED:
        link = resolve(base, node.attr(_LINKED[tag]) or "")
        return "" if link is None else link.text
    said = node.attr(_SAID[tag]) if tag in _SAID else None
    return " ".join(ElementNode(node).text().split()) if said is None else said
