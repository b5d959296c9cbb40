"""HTML: title and links, by lexbor."""

from typing import Final

import msgspec
from selectolax.lexbor import LexborHTMLParser

from whimbrel.url import Url, resolve

_LINKS: Final = "a[href], area[href], iframe[src], frame[src]"


class HtmlPage(msgspec.Struct, frozen=True, gc=False):
    title: str
    links: list[Url]
    """Where it leads, each target once, in the order of the document."""


def read_html(body: bytes, url: Url) -> HtmlPage:
    tree = LexborHTMLParser(body)
    base = url
    declared = tree.css_first("base[href]")
    if declared is not None:
        base = resolve(url, declared.attributes.get("href") or "") or url
    links: dict[str, Url] = {}
    for node in tree.css(_LINKS):
        target = resolve(base, node.attributes.get("href") or node.attributes.get("src") or "")
        if target is not None:
            links.setdefault(target.text, target)
    title = tree.css_first("title")
    return HtmlPage(" ".join(title.text().split()) if title is not None else "", list(links.values()))
