"""What pages of the archive refer to without linking: pictures and styles of a crawl without them, forms that send,
hints for browsers. No table has these, so the documents are read again, from those of the URL's own site and from those
that are nearest to the seeds."""

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from typing import Final

import msgspec
from turbohtml import Document, Element, Namespace

from whimbrel.archive.head import head_fields
from whimbrel.error import Damaged
from whimbrel.offline.url_facts import Ask
from whimbrel.parse.charset import decoded
from whimbrel.parse.dispatch import media_type
from whimbrel.parse.html_links import REQUISITE_ELEMENTS, REQUISITE_RELATIONS, Harvest, fold, srcset_urls
from whimbrel.parse.html_tree import MAX_BYTES, TEMPLATES, is_template, tree_of
from whimbrel.query.document import decoded_body
from whimbrel.query.snapshot import Snapshot
from whimbrel.query.table_rows import literal
from whimbrel.url import Url, resolve, restore

_PAGES: Final = 1_000
_BYTES: Final = 64_000_000
"""Of documents, for one index."""
_SITES_KEPT: Final = 16
_FOLLOWED: Final = ("a", "area", "iframe", "frame")
"""What links as the crawl knows them: it is not recorded only where a page was read in part."""
_ATTRIBUTES: Final[dict[str, tuple[str, ...]]] = {
    **dict.fromkeys(("a", "area"), ("href",)),
    **dict.fromkeys(("iframe", "frame", "script", "audio", "track", "embed"), ("src",)),
    **dict.fromkeys(("blockquote", "q", "ins", "del"), ("cite",)),
    "img": ("src", "srcset"),
    "source": ("src", "srcset"),
    "video": ("src", "poster"),
    "input": ("src", "formaction"),
    "button": ("formaction",),
    "form": ("action",),
    "link": ("href", "imagesrcset"),
    "object": ("data",),
    "body": ("background",),
    "meta": ("content",),
}
"""Attributes that name a URL, by element."""
_SELECT: Final = """
    with page as (select * from pages where {condition} and contains(mime, 'html') and truncated <> 'crashed')
    select page.url, page.truncated, page.length, whole.warc_file, whole.warc_offset, whole.warc_length
    from page join captures whole on whole.duplicate_of = '' and whole.warc_file <> ''
        and whole.capture_id = case page.duplicate_of when '' then page.capture_id else page.duplicate_of_id end
    order by page.depth, page.warc_file, page.warc_offset limit {pages}"""
"""A duplicate has the body of the page it repeats, and refers from its own place."""


class Mention(msgspec.Struct, frozen=True):
    """Where a page names a URL."""

    source: str
    place: str
    """The element and its attribute, as they are written: `<img src>`."""
    kind: str
    """The kind of link that it would be: `img`, `script`, `style`, `media`, `form`, or the element."""
    truncated: str
    """Why the page was read only in part; empty when it was read whole."""


class MentionIndex:
    """What some pages refer to."""

    def __init__(self) -> None:
        self.found: dict[str, Mention] = {}
        self.pages = 0
        """That were read."""


class MentionFinder:
    """An index for each site, and one of the pages nearest to the seeds; made when they are first needed."""

    def __init__(self, ask: Ask, snapshot: Snapshot) -> None:
        self._ask = ask
        self._snapshot = snapshot
        self._sites: OrderedDict[str, MentionIndex] = OrderedDict()
        self._nearest: MentionIndex | None = None

    def find(self, urls: Iterable[Url]) -> dict[str, Mention]:
        """For each URL that a page was found to refer to, such a place."""
        found: dict[str, Mention] = {}
        for url in urls:
            mention = self._site(url).found.get(url.text) or self.nearest.found.get(url.text)
            if mention is not None:
                found[url.text] = mention
        return found

    def searched(self, url: Url) -> int:
        """Pages that were read for a URL that `find` was asked for."""
        site = self._sites.get(url.site)
        return max(0 if site is None else site.pages, self.nearest.pages)

    def _site(self, url: Url) -> MentionIndex:
        index = self._sites.pop(url.site, None)
        if index is None:
            index = self._index(f"host = {literal(url.host)} and site = {literal(url.site)}")
            if len(self._sites) >= _SITES_KEPT:
                self._sites.popitem(last=False)
        self._sites[url.site] = index
        return index

    @property
    def nearest(self) -> MentionIndex:
        if self._nearest is None:
            self._nearest = self._index("true")
        return self._nearest

    def _index(self, condition: str) -> MentionIndex:
        index, left = MentionIndex(), _BYTES
        for row in self._ask(_SELECT.format(condition=condition, pages=_PAGES)):
            left -= row["length"]
            if left < 0:
                break
            for target, mention in self._mentions(row):
                index.found.setdefault(target, mention)
            index.pages += 1
        return index

    def _mentions(self, row: dict[str, str]) -> Iterator[tuple[str, Mention]]:
        try:
            stored = self._snapshot.stored(row["warc_file"], int(row["warc_offset"]), int(row["warc_length"]))
        except (Damaged, OSError):
            return  # Others say so: `verify`.
        body = decoded_body(stored)[:MAX_BYTES]
        _, charset = media_type(head_fields(stored.http_head).get("content-type", ""))
        text, _ = decoded(body, charset)
        document, _ = tree_of(text, text.encode("utf-8", "replace"))
        yield from mentions_of(document, restore(row["url"]), row["truncated"])


def mentions_of(document: Document, url: Url, truncated: str = "") -> Iterator[tuple[str, Mention]]:
    """The URLs that a document refers to in places that are not followed as links; where it was read in part, all."""
    for template in [one for one in document.iter_elements(TEMPLATES) if is_template(one)]:
        template.decompose()
    base = _base(document, url)
    for element in document.iter_elements(tuple(_ATTRIBUTES)):
        if element.namespace is not Namespace.HTML or (element.tag in _FOLLOWED and not truncated):
            continue
        for attribute in _ATTRIBUTES[element.tag]:
            for href in _hrefs(element, attribute):
                target = resolve(base, href)
                if target is not None:
                    place = f"<{element.tag} {attribute}>"
                    yield target.text, Mention(url.text, place, _kind(element, attribute), truncated)


def _base(document: Document, url: Url) -> Url:
    harvest = Harvest(requisites=False, most=0, robots=())
    harvest.base = next((element.attr("href") for element in document.iter_elements(("base",))), None)
    return harvest.base_of(url)


def _hrefs(element: Element, attribute: str) -> Iterable[str]:
    value = element.attr(attribute)
    if not value or (element.tag == "meta" and not value.startswith(("http://", "https://"))):
        return ()
    return srcset_urls(value) if attribute.endswith("srcset") else (value,)


def _kind(element: Element, attribute: str) -> str:
    if attribute.endswith("action"):
        return "form"
    if element.tag == "link":
        words = fold(element.attr("rel") or "").lower().split(" ")
        return next((REQUISITE_RELATIONS[word] for word in words if word in REQUISITE_RELATIONS), "link")
    return REQUISITE_ELEMENTS.get(element.tag, element.tag)
