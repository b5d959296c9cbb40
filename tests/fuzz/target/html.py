"""HTML, as the crawl reads it and as handlers ask for it."""

import random
from contextlib import suppress
from pathlib import Path
from typing import Final

from tests.fuzz.api import Target, plain
from tests.fuzz.target.document import PAGE, check_page
from whimbrel.handle.page import Page, RawPage
from whimbrel.parse.api import Reading
from whimbrel.parse.html import Html

_TAGS: Final = (
    *[
        "a",
        "p",
        "b",
        "i",
        "font",
        "table",
        "tr",
        "td",
        "caption",
        "col",
        "tbody",
        "div",
        "span",
        "ul",
        "li",
        "svg",
        "math",
        "foreignObject",
        "desc",
        "title",
        "mi",
    ],
    *[
        "annotation-xml",
        "template",
        "select",
        "option",
        "optgroup",
        "script",
        "style",
        "noscript",
        "textarea",
        "iframe",
        "frameset",
        "frame",
    ],
    *[
        "html",
        "head",
        "body",
        "base",
        "meta",
        "link",
        "form",
        "input",
        "button",
        "h1",
        "dd",
        "dt",
        "pre",
        "plaintext",
        "image",
        "nobr",
        "applet",
        "marquee",
        "br",
        "hr",
    ],
)
_ATTRIBUTES: Final = (
    *(" href=x", " href='../y#z'", ' href="//h/"', " rel=next", " xlink:href=q", " content='0;url=z'", " name=robots"),
    *(" itemscope", " itemprop=n", " type=hidden", " http-equiv=refresh", " lang=de", " colspan=99", " href"),
    *(" shadowrootmode=open", " encoding=text/html", " x=&amp;", " y='<", " class=a", " charset=utf-16", " \0=\0"),
    *(' src="data:,"', " href='http://[::1'", " href='http://\u00e4.test:99999/%'", " href='\t//x\n/y'"),
)
_TEXTS: Final = (
    *("word ", "\0", "&", "&amp", "&#x110000;", "&NotEqualTilde;", "<", ">", "<!--", "-->", "<![CDATA[", "]]>"),
    *("<!doctype", "\U0001f600", "\xa0", "\r\n", "</", "<?", "\ud7ff", "\ufffe", "'", '"', "{}", "::"),
    '{"@graph": [{"a": [1]}]}',
)
_MOST_TABLES: Final = 40
"""turbohtml 1.15.4 crashes on nested tables that are exactly 512 elements deep, which is known and contained
(docs/adr/0017-one-html-reader.md)."""
_READER: Final = Html(Reading(requisites=True))


def read(body: bytes) -> None:
    if body.lower().count(b"<table") > _MOST_TABLES:
        return
    check_page(_READER.read(body, PAGE, "text/html", ""), Reading().max_links)
    page = Page(RawPage("http://a.test/dir/page", 200, {}, body, "text/html"))
    # Not `markdown`: turbohtml 1.15.4 crashes in it now and then (docs/adr/0017-one-html-reader.md).
    _ = (page.title, page.text, page.main_text, page.json_ld, page.microdata, page.links, page.base)
    with suppress(ValueError):
        page.json()
    page.css("a[href], p:nth-child(2n), :not(td) > b").texts  # noqa: B018
    page.css("p::text").exacts  # noqa: B018
    page.xpath("//a/@href | //p[b]/text()").texts  # noqa: B018


def made_up(dice: random.Random) -> bytes:
    parts: list[str] = []
    for _ in range(dice.randrange(1, 400)):
        kind = dice.random()
        if kind < 0.5:
            attributes = "".join(dice.choices(_ATTRIBUTES, k=dice.randrange(3)))
            parts.append(f"<{dice.choice(_TAGS)}{attributes}{dice.choice(('>', '>', '>', '/>', ''))}")
        elif kind < 0.75:
            parts.append(f"</{dice.choice(_TAGS)}>")
        else:
            parts.append(dice.choice(_TEXTS) * dice.choice((1, 1, 1, 50)))
    return "".join(parts).encode("utf-8", "surrogatepass")


def installed_documents() -> list[bytes]:
    """Some of those that this machine has. There may be none."""
    paths = [path for path in Path("/usr/share/doc").rglob("*.html") if path.is_file()]
    small = sorted(path for path in paths if 200 < path.stat().st_size < 60_000)
    return [path.read_bytes() for path in random.Random(1).sample(small, min(60, len(small)))]  # noqa: S311


TARGET: Final = Target(
    "html",
    plain(read),
    words=tuple(
        text.encode("utf-8", "surrogatepass") for text in (*_ATTRIBUTES, *_TEXTS, *(f"<{tag}>" for tag in _TAGS))
    ),
    make_up=made_up,
    more_seeds=installed_documents,
    most_bytes=300_000,
)
