"""Data that pages carry for machines: JSON-LD and microdata."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

import msgspec

from whimbrel.url import Url, resolve

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser, LexborNode

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


def microdata(tree: "LexborHTMLParser", base: Url) -> list[dict[str, Any]]:
    """HTML §5.2: items that are no property of another."""
    return [_item(node, base, 0) for node in tree.css("[itemscope]:not([itemprop])")]


def _item(node: "LexborNode", base: Url, depth: int) -> dict[str, Any]:
    attributes = node.attributes
    found: dict[str, Any] = {}
    for key, name in (("itemtype", "type"), ("itemid", "id")):
        if attributes.get(key):
            found[name] = attributes[key]
    if depth < _MOST_DEEP:
        for child in node.iter():
            _gather(child, base, found, depth)
    return found


def _gather(node: "LexborNode", base: Url, found: dict[str, Any], depth: int) -> None:
    attributes = node.attributes
    if "itemprop" in attributes:
        value = _item(node, base, depth + 1) if "itemscope" in attributes else _value(node, base)
        for name in (attributes["itemprop"] or "").split():
            _put(found, name, value)
    if "itemscope" not in attributes and depth < _MOST_DEEP:
        for child in node.iter():
            _gather(child, base, found, depth)


def _put(found: dict[str, Any], name: str, value: Any) -> None:
    if name not in found:
        found[name] = value
    elif isinstance(found[name], list):
        found[name].append(value)
    else:
        found[name] = [found[name], value]


def _value(node: "LexborNode", base: Url) -> str:
    tag, attributes = node.tag or "", node.attributes
    if tag in _LINKED:
        link = resolve(base, attributes.get(_LINKED[tag]) or "")
        return "" if link is None else link.text
    if tag in _SAID and attributes.get(_SAID[tag]) is not None:
        return attributes[_SAID[tag]] or ""
    return " ".join(node.text(separator=" ").split())
