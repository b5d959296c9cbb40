"""Items of the small web's pages, and a filter."""

from collections.abc import Iterator

import whimbrel as w


class Heading(w.Item, key="url"):
    url: str
    title: str


class Seen(w.Item):
    url: str


@w.handler(mime="text/html")
def headings(page: w.Page) -> Iterator[w.Item]:
    yield Heading(page.url, page.title)
    yield Seen(page.url)


@w.filter
def not_the_last_leaf(url: str) -> bool:
    return not url.endswith("/leaf/7")
