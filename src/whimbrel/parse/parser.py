"""Settles visits and finds links."""

from collections.abc import Iterable
from typing import Final

from whimbrel.fetch.api import Fetched, Response
from whimbrel.flow import In, Out, Sync
from whimbrel.frontier.api import Discovered
from whimbrel.outcome import Outcome
from whimbrel.parse.api import Visited
from whimbrel.parse.html import read_html
from whimbrel.url import resolve

MAX_REDIRECTS: Final = 10
"""In a row."""
_HTML: Final = ("text/html", "application/xhtml+xml")


class Parser(Sync):
    fetched = In(Fetched)
    links = Out(Discovered)
    visited = Out(Visited)

    def process(self, fetched: Fetched) -> Iterable[Discovered | Visited]:
        response = fetched.response
        if response is None:
            return [Visited(fetched, Outcome.FAILED, fetched.trouble)]
        if 300 <= response.status < 400:
            return self._redirect(fetched, response)
        if 200 <= response.status < 300:
            return self._document(fetched, response)
        outcome = Outcome.GONE if response.status in (404, 410) else Outcome.FAILED
        return [Visited(fetched, outcome, f"http-{response.status}")]

    def _redirect(self, fetched: Fetched, response: Response) -> list[Discovered | Visited]:
        visit = fetched.visit
        location = response.header("location")
        if location is None:
            return [Visited(fetched, Outcome.FAILED, "bad-redirect")]
        if visit.redirects >= MAX_REDIRECTS:
            return [Visited(fetched, Outcome.FAILED, "redirect-limit")]
        found: list[Discovered | Visited] = []
        target = resolve(visit.url, location)
        if target is not None:
            found.append(Discovered(target, visit.depth, visit.url.text, visit.redirects + 1))
        return [*found, Visited(fetched, Outcome.REDIRECTED, f"http-{response.status}")]

    def _document(self, fetched: Fetched, response: Response) -> list[Discovered | Visited]:
        visit = fetched.visit
        reason = "truncated-length" if response.truncated else "new"
        mime = (response.header("content-type") or "").partition(";")[0].strip().lower()
        if mime not in _HTML:
            return [Visited(fetched, Outcome.STORED, reason)]
        page = read_html(response.body, visit.url)
        found = [Discovered(url, visit.depth + 1, visit.url.text) for url in page.links]
        return [*found, Visited(fetched, Outcome.STORED, reason, page.title, len(page.links))]
