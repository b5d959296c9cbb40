"""The pages of the corpus `quotes`: every host is a site like the one of Scrapy's tutorial.

Ten quotes on a page, a link to the next page, and a page for each author. What a spider should find there is known.
"""

from typing import Final, NamedTuple

from whimbrel.simweb.dice import Dice
from whimbrel.simweb.topic import COMMON, TOPIC_NAMES, VOCABULARY

QUOTES: Final = 10
"""On a page."""
_SEED: Final = 1
_WORDS: Final = tuple(word for topic in TOPIC_NAMES for word in VOCABULARY[topic])
_QUOTE_WORDS: Final = 24
_TAGS: Final = 4
_BIO_WORDS: Final = 400
_DRAWS: Final = 1 + _QUOTE_WORDS + _TAGS


class QuoteOf(NamedTuple):
    text: str
    author: int
    tags: list[str]


class QuoteWriter:
    """Three pages of a host in five are lists, the others are authors."""

    def __init__(self, pages: int) -> None:
        self._lists = max(1, pages * 3 // 5)
        self._authors = pages - self._lists
        self._dice = Dice(_SEED)

    def path(self, page: int) -> str:
        if page < self._lists:
            return f"/page/{page + 1}.html" if page else "/"
        return f"/author/{page - self._lists}.html"

    def body(self, host: int, page: int) -> bytes:
        main = self._list(host, page) if page < self._lists else self._author(host, page - self._lists)
        return (
            '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="UTF-8">\n<title>Quotes to Scrape</title>\n'
            f'</head>\n<body>\n<div class="container">\n{main}</div>\n</body>\n</html>\n'
        ).encode()

    def quotes(self, host: int, page: int) -> list[QuoteOf]:
        """Each author is on some page: those of a page follow each other."""
        found = []
        for at in range(QUOTES):
            number = page * QUOTES + at
            _, *draws = self._dice.draws(_DRAWS, b"quote", host, number)
            words = [_WORDS[draw % len(_WORDS)] if draw & 1 else COMMON[draw % len(COMMON)] for draw in draws]
            text = f"“{' '.join(words[:_QUOTE_WORDS]).capitalize()}, {number}.”"
            found.append(QuoteOf(text, number % max(1, self._authors), words[_QUOTE_WORDS:]))
        return found

    def name(self, host: int, author: int) -> str:
        first, last = self._dice.draws(2, b"author", host, author)
        return f"{_WORDS[first % len(_WORDS)].title()} {_WORDS[last % len(_WORDS)].title()} {author}"

    def _list(self, host: int, page: int) -> str:
        parts = []
        for quote in self.quotes(host, page):
            tags = "".join(f'            <a class="tag" href="/tag/{tag}.html">{tag}</a>\n' for tag in quote.tags)
            about = f'<a href="{self.path(self._lists + quote.author)}">(about)</a>' if self._authors else ""
            parts.append(
                f'    <div class="quote" itemscope itemtype="http://schema.org/CreativeWork">\n'
                f'        <span class="text" itemprop="text">{quote.text}</span>\n'
                f'        <span>by <small class="author" itemprop="author">{self.name(host, quote.author)}</small>\n'
                f"        {about}\n        </span>\n"
                f'        <div class="tags">\n            Tags:\n{tags}        </div>\n    </div>\n'
            )
        if page + 1 < self._lists:
            parts.append(f'    <ul class="pager"><li class="next"><a href="{self.path(page + 1)}">Next</a></li></ul>\n')
        return "".join(parts)

    def _author(self, host: int, author: int) -> str:
        born, *draws = self._dice.draws(1 + _BIO_WORDS, b"biography", host, author)
        bio = " ".join(COMMON[draw % len(COMMON)] for draw in draws)
        return (
            f'    <div class="author-details">\n        <h3 class="author-title">{self.name(host, author)}</h3>\n'
            f'        <p>Born: <span class="author-born-date">March {1 + born % 31}, {1800 + born % 200}</span></p>\n'
            f'        <div class="author-description">{bio}</div>\n    </div>\n'
        )
