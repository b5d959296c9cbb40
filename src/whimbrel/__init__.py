"""Whimbrel: a parallel, distributed, migrating web crawler.

    import whimbrel

    result = whimbrel.Crawl("example.org", max_pages=100).run("out")
    result.sql("select url, title from pages").pl()
    whimbrel.open("out").get("https://example.org/").body
    with whimbrel.Explainer("out") as explainer:
        explainer.story("https://example.org/missing").explanation
    whimbrel.Control("out").pause()  # while it runs

What is named here is what programs may rely on. All errors derive from `WhimbrelError`. Everything is loaded when it is
first used: the package itself imports nothing.
"""

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from whimbrel.version import __version__

if TYPE_CHECKING:
    from whimbrel.commit.committed import NotACrawl as NotACrawl
    from whimbrel.control.api import ControlError as ControlError
    from whimbrel.control.client import Control as Control
    from whimbrel.error import Busy as Busy
    from whimbrel.error import Damaged as Damaged
    from whimbrel.error import StorageTrouble as StorageTrouble
    from whimbrel.error import UsageError as UsageError
    from whimbrel.error import WhimbrelError as WhimbrelError
    from whimbrel.handle.item import Item as Item
    from whimbrel.handle.page import Page as Page
    from whimbrel.handle.rule import Link as Link
    from whimbrel.handle.rule import filter as filter  # noqa: A004
    from whimbrel.handle.rule import handler as handler
    from whimbrel.job.progress import Progress as Progress
    from whimbrel.offline.explain import Explainer as Explainer
    from whimbrel.offline.explain import UrlStory as UrlStory
    from whimbrel.program.crawl import Crawl as Crawl
    from whimbrel.program.crawl import Notice as Notice
    from whimbrel.program.result import CrawlResult as CrawlResult
    from whimbrel.query.crawl_data import CrawlData as CrawlData
    from whimbrel.query.document import Document as Document
    from whimbrel.query.sql import QueryFailed as QueryFailed

_PLACES: Final = {
    "Busy": "whimbrel.error",
    "Control": "whimbrel.control.client",
    "ControlError": "whimbrel.control.api",
    "Crawl": "whimbrel.program.crawl",
    "CrawlData": "whimbrel.query.crawl_data",
    "CrawlResult": "whimbrel.program.result",
    "Damaged": "whimbrel.error",
    "Document": "whimbrel.query.document",
    "Explainer": "whimbrel.offline.explain",
    "Item": "whimbrel.handle.item",
    "Link": "whimbrel.handle.rule",
    "NotACrawl": "whimbrel.commit.committed",
    "Notice": "whimbrel.program.crawl",
    "Page": "whimbrel.handle.page",
    "Progress": "whimbrel.job.progress",
    "QueryFailed": "whimbrel.query.sql",
    "StorageTrouble": "whimbrel.error",
    "UrlStory": "whimbrel.offline.explain",
    "UsageError": "whimbrel.error",
    "WhimbrelError": "whimbrel.error",
    "filter": "whimbrel.handle.rule",
    "handler": "whimbrel.handle.rule",
}

__all__ = [
    "Busy",
    "Control",
    "ControlError",
    "Crawl",
    "CrawlData",
    "CrawlResult",
    "Damaged",
    "Document",
    "Explainer",
    "Item",
    "Link",
    "NotACrawl",
    "Notice",
    "Page",
    "Progress",
    "QueryFailed",
    "StorageTrouble",
    "UrlStory",
    "UsageError",
    "WhimbrelError",
    "__version__",
    "filter",
    "handler",
    "open",
]


def open(*directories: "str | os.PathLike[str]") -> "CrawlData":  # noqa: A001 - whimbrel.open, as in gzip.open
    """Open crawls for questions, running or not. Raises NotACrawl if a directory holds none."""
    from pathlib import Path

    from whimbrel.query.crawl_data import CrawlData

    if not directories:
        raise TypeError("open() needs at least one directory")
    opened = CrawlData([Path(directory) for directory in directories])
    opened.check()
    return opened


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module 'whimbrel' has no attribute {name!r}")
    # Kept: the next look at it finds it without a call. Handlers look at `whimbrel.Link` for every link.
    found = globals()[name] = getattr(import_module(_PLACES[name]), name)
    return found
