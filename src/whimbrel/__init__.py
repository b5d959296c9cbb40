"""Whimbrel: a parallel, distributed, migrating web crawler.

    import whimbrel

    result = whimbrel.Crawl("example.org", max_pages=100).run("out")
    result.sql("select url, title from pages").pl()
    whimbrel.open("out").get("https://example.org/").body
    whimbrel.Control("out").pause()  # while it runs

What is named here is what programs may rely on. It is loaded when it is first used: the package itself imports nothing.
"""

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from whimbrel.version import __version__

if TYPE_CHECKING:
    from whimbrel.control.client import Control as Control
    from whimbrel.handle.item import Item as Item
    from whimbrel.handle.page import Page as Page
    from whimbrel.handle.rule import Link as Link
    from whimbrel.handle.rule import filter as filter  # noqa: A004
    from whimbrel.handle.rule import handler as handler
    from whimbrel.job.progress import Progress as Progress
    from whimbrel.program.crawl import Crawl as Crawl
    from whimbrel.program.crawl import Notice as Notice
    from whimbrel.program.result import CrawlResult as CrawlResult
    from whimbrel.query.crawl_data import CrawlData as CrawlData
    from whimbrel.query.document import Document as Document

_PLACES: Final = {
    "Control": "whimbrel.control.client",
    "Crawl": "whimbrel.program.crawl",
    "CrawlData": "whimbrel.query.crawl_data",
    "CrawlResult": "whimbrel.program.result",
    "Document": "whimbrel.query.document",
    "Item": "whimbrel.handle.item",
    "Link": "whimbrel.handle.rule",
    "Notice": "whimbrel.program.crawl",
    "Page": "whimbrel.handle.page",
    "Progress": "whimbrel.job.progress",
    "filter": "whimbrel.handle.rule",
    "handler": "whimbrel.handle.rule",
}

__all__ = [
    "Control",
    "Crawl",
    "CrawlData",
    "CrawlResult",
    "Document",
    "Item",
    "Link",
    "Notice",
    "Page",
    "Progress",
    "__version__",
    "filter",
    "handler",
    "open",
]


def open(*directories: "str | os.PathLike[str]") -> "CrawlData":  # noqa: A001 - whimbrel.open, as in gzip.open
    """Open crawls for questions, running or not. NotACrawl when a directory holds none."""
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
    return getattr(import_module(_PLACES[name]), name)
