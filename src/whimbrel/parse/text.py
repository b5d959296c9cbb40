"""Plain text: its words, and its links when it is a list of URLs, as a sitemap in text form is."""

from typing import Final

from whimbrel.parse.api import Links, PageLink, ParsedPage
from whimbrel.parse.charset import to_utf8
from whimbrel.parse.html_links import Reading, fold_lines
from whimbrel.url import Url
from whimbrel.url.join import Joiner
from whimbrel.url.scheme import PREFIXES

_LOOKED_AT: Final = 100
"""Lines that decide what the text is."""


class Text:
    def __init__(self, reading: Reading) -> None:
        self._reading = reading

    def read(self, body: bytes, url: Url, mime: str, charset: str) -> ParsedPage:
        body, charset = to_utf8(body, charset)
        text = body.decode("utf-8", "replace")
        targets, trouble = self._targets(text, url)
        links = Links.of(PageLink(target, "", "", "text") for target in targets)
        words = fold_lines(text)[: self._reading.max_text_chars] if self._reading.text else ""
        return ParsedPage(mime, charset, text=words, links=links, trouble=trouble)

    def _targets(self, text: str, url: Url) -> tuple[list[str], str]:
        """Only a text that has nothing but absolute URLs, one in a line, is a list. URLs in prose are not links."""
        if not text.lstrip()[:8].lower().startswith(PREFIXES):
            return [], ""
        lines = [line.strip() for line in text.splitlines()]
        lines = [line for line in lines if line]
        if not all(line.lower().startswith(PREFIXES) and " " not in line for line in lines[:_LOOKED_AT]):
            return [], ""
        join, found = Joiner(url).join, dict[str, None]()
        for line in lines:
            target = join(line) if line.lower().startswith(PREFIXES) else None
            if target is not None and target not in found:
                if len(found) >= self._reading.max_links:
                    return list(found), "too-many-links"
                found[target] = None
        return list(found), ""
