"""Plain text: its words, and its links when it is a list of URLs, as a sitemap in text form is."""

from typing import Final

from whimbrel.parse.api import Links, ParsedPage, Reading
from whimbrel.parse.charset import decoded
from whimbrel.parse.html_text import fold_lines
from whimbrel.parse.link_list import RAW_LINKS, LinkList
from whimbrel.url import Url
from whimbrel.url.join import Joiner
from whimbrel.url.scheme import PREFIXES

_MAX_BYTES: Final = 10_000_000
"""Of a text; what comes after them is not read. Sitemaps in text form may have 50 MB, but few have one."""
_LOOKED_AT: Final = 100
"""Lines that decide what the text is."""


class Text:
    def __init__(self, reading: Reading) -> None:
        self._reading = reading

    def read(self, body: bytes, url: Url, mime: str, charset: str) -> ParsedPage:
        text, charset = decoded(body[:_MAX_BYTES], charset)
        links = self._links(text, url)
        found = Links(links.targets, [""] * len(links.targets), links.rels, links.kinds)
        most = self._reading.max_text_chars
        # Cut before it is folded, too: lines of a letter or two take many times their memory.
        words = fold_lines(text[: 2 * most])[:most] if self._reading.text else ""
        trouble = "too-large" if len(body) > _MAX_BYTES else links.trouble
        return ParsedPage(mime, charset, text=words, links=found, trouble=trouble)

    def _links(self, text: str, url: Url) -> LinkList:
        """Only a text that has nothing but absolute URLs, one in a line, is a list. URLs in prose are not links."""
        found = LinkList(Joiner(url), self._reading.max_links)
        if not text.lstrip()[:8].lower().startswith(PREFIXES):
            return found
        lines = [line for each in text.splitlines() if (line := each.strip())]
        if all(_is_url(line) and " " not in line for line in lines[:_LOOKED_AT]):
            most = self._reading.max_links * RAW_LINKS
            found.add_all(("text", line, "") for line in lines[:most] if _is_url(line))
            if len(lines) > most:
                found.trouble = "too-many-links"
        return found


def _is_url(line: str) -> bool:
    return line.lower().startswith(PREFIXES)
