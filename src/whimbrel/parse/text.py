"""Plain text: its words, and its links when it is a list of URLs, as a sitemap in text form is."""

from typing import Final

from whimbrel.parse.api import Links, ParsedPage, Reading
from whimbrel.parse.charset import decoded
from whimbrel.parse.html_text import fold_lines
from whimbrel.parse.link_list import LinkList
from whimbrel.url import Url
from whimbrel.url.join import Joiner
from whimbrel.url.scheme import PREFIXES

_LOOKED_AT: Final = 100
"""Lines that decide what the text is."""


class Text:
    def __init__(self, reading: Reading) -> None:
        self._reading = reading

    def read(self, body: bytes, url: Url, mime: str, charset: str) -> ParsedPage:
        text, charset = decoded(body, charset)
        links = self._links(text, url)
        found = Links(links.targets, [""] * len(links.targets), links.rels, links.kinds)
        words = fold_lines(text)[: self._reading.max_text_chars] if self._reading.text else ""
        return ParsedPage(mime, charset, text=words, links=found, trouble=links.trouble)

    def _links(self, text: str, url: Url) -> LinkList:
        """Only a text that has nothing but absolute URLs, one in a line, is a list. URLs in prose are not links."""
        found = LinkList(Joiner(url), self._reading.max_links)
        if not text.lstrip()[:8].lower().startswith(PREFIXES):
            return found
        lines = [line for each in text.splitlines() if (line := each.strip())]
        if all(_is_url(line) and " " not in line for line in lines[:_LOOKED_AT]):
            found.add_all(("text", line, "") for line in lines if _is_url(line))
        return found


def _is_url(line: str) -> bool:
    return line.lower().startswith(PREFIXES)
