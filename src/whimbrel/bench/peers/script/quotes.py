# mypy: ignore-errors
"""The spider of Scrapy's tutorial, quotes and their authors, for `whimbrel crawl --with` and `--follow handlers`."""

import whimbrel as w


class Quote(w.Item, key=("author", "text")):
    text: str
    author: str
    tags: list[str]


class Author(w.Item, key="name"):
    name: str
    born: str
    bio: str


@w.handler()
def parse(page: w.Page):
    for quote in page.css("div.quote"):
        yield Quote(quote.css(".text").text, quote.css(".author").text, quote.css(".tag").texts)
        yield w.Link(quote.css(".author + a").href)
    yield w.Link(page.css("li.next a").href)


@w.handler(url="*/author/*")
def parse_author(page: w.Page):
    details = ("h3.author-title", ".author-born-date", ".author-description")
    yield Author(*(page.css(detail).text for detail in details))
