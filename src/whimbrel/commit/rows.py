"""Rows of the tables, made from visits that are over."""

from hashlib import blake2b
from typing import Any, Final

import xxhash

from whimbrel.archive.api import RecordPlace
from whimbrel.archive.record import digest_text
from whimbrel.commit.work import SettledVisit, Work
from whimbrel.dedupe.simhash import simhashes
from whimbrel.facts.item import HIDDEN, ItemRows
from whimbrel.facts.links import PageLinks
from whimbrel.outcome import Outcome
from whimbrel.parse.api import NO_LINKS, Handled
from whimbrel.url.value import restore

_PAGES = (Outcome.STORED, Outcome.DUPLICATE)
_IDS_KEPT: Final = 100_000


class _Ids(dict[str, int]):
    """The 64 bits that join the tables, by URL. Not keyed: the same URL has the same id in every crawl. Pages of a site
    repeat each other's links, so the last ones are remembered."""

    def __missing__(self, text: str) -> int:
        if len(self) >= _IDS_KEPT:
            self.clear()
        found = self[text] = xxhash.xxh3_64_intdigest(text.encode())
        return found


_url_id = _Ids().__getitem__
REQUEUED: Final = "requeued"


def rows(work: Work, places: list[RecordPlace | None], *, text: bool, simhash: bool) -> dict[str, Any]:
    """All tables' new rows; `places` has one for each visit that was kept."""
    stored = [(settled, place) for settled, place in zip(work.visits, places, strict=True) if settled.outcome in _PAGES]
    texts = ["" if settled.page is None else settled.page.text for settled, _ in stored]
    hashes = simhashes(texts) if simhash else [None] * len(stored)
    pages: list[Any] = [page_row(*page, found, text=text) for page, found in zip(stored, hashes, strict=True)]
    links: list[Any] = [page_links(settled) for settled, _ in stored if settled.page is not None and settled.page.links]
    fetches = [fetch_row(settled) for settled in work.visits]
    fetches += [dropped_row(*dropped) for dropped in work.dropped]
    fetches += [requeued_row(*requeued) for requeued in work.requeued]
    found = {"pages": pages, "links": links, "fetches": fetches, "hosts": work.hosts, "events": work.events}
    return {table: new for table, new in found.items() if new} | _items(work)


def _items(work: Work) -> dict[str, Any]:
    """What handlers made: a row of `handled` for each page they looked at, and their items, table by table."""
    found: dict[str, Any] = {table: ItemRows((*columns, *HIDDEN), []) for table, columns in work.tables.items()}
    runs: list[Any] = []
    looked = [
        (settled.visit.url.text, settled.at_s, settled.handled)
        for settled in work.visits
        if settled.handled is not None and settled.outcome in _PAGES
    ]
    for url, at_s, handled in (*looked, *work.handled):
        run, rows = handled_rows(url, at_s, handled)
        runs.append(run)
        for table, columns, row in rows:
            if table not in found:
                found[table] = ItemRows((*columns, *HIDDEN), [])
            found[table].rows.append(row)
    return found | ({"handled": runs} if runs else {})


def handled_rows(
    url: str, at_s: float, handled: Handled
) -> tuple[tuple[Any, ...], list[tuple[str, tuple[tuple[str, str], ...], tuple[Any, ...]]]]:
    """The row of `handled`, and for each item its table, columns and row."""
    # Not xxh3, which is easy to collide on purpose: a page must not hide what was made of another.
    run = int.from_bytes(blake2b(f"{url}\n{handled.version}\n{at_s!r}".encode(), digest_size=8).digest())
    items = [
        (table, columns, (*values, run, url, at_s, key or b"%d %d" % (run, number)))
        for number, (table, columns, values, key) in enumerate(handled.items)
    ]
    row = (run, url, handled.handlers, handled.version, at_s, handled.outcome, len(items), handled.elapsed_ms)
    return (*row, handled.error, handled.printed), items


def page_row(settled: SettledVisit, place: RecordPlace | None, simhash: int | None, *, text: bool) -> tuple[Any, ...]:
    exchange, visit, page = settled.exchange, settled.visit, settled.page
    response = None if exchange is None else exchange.response
    if response is None:
        raise AssertionError("a page without a response")
    headers, size = response.headers, response.document.size
    facts: tuple[Any, ...] = ("", "", size, "", "", "", "", "", "")
    if page is not None:
        facts = (
            *(page.mime, page.charset, page.length, page.title, page.description, page.language, page.canonical),
            *(",".join(page.robots), page.text if text else ""),
        )
    mime, charset, length, title, description, language, canonical, robots, words = facts
    file, offset, width = ("", 0, 0) if place is None else (place.file, place.offset, place.length)
    return (
        *(_url_id(visit.url.text), visit.url.text, visit.url.host, response.status, mime, charset, length, size),
        *(title, description, language, canonical, robots, visit.depth, settled.at_s),
        *(headers.get("etag", ""), headers.get("last-modified", "")),
        *(digest_text(settled.digest), int.from_bytes(settled.digest[:8], "big"), simhash),
        *("" if settled.earlier is None else settled.earlier.url, response.truncated, file, offset, width, words),
    )


def page_links(settled: SettledVisit) -> PageLinks:
    page, source = settled.page, settled.visit.url.text
    links = NO_LINKS if page is None else page.links
    keys = list(map(_url_id, links.targets))
    return PageLinks(_url_id(source), source, keys, links.targets, links.anchors, links.rels, links.kinds)


def fetch_row(settled: SettledVisit) -> tuple[Any, ...]:
    exchange, visit = settled.exchange, settled.visit
    response = None if exchange is None else exchange.response
    elapsed_s = 0.0 if exchange is None else exchange.elapsed_s
    status, version, size = (0, "", 0)
    if response is not None:
        status, version, size = response.status, response.http_version, response.document.size
    return (
        *(visit.url.text, visit.url.host, visit.address, settled.outcome.value, settled.reason, status, version),
        *(settled.at_s, round(elapsed_s * 1000, 3), size, visit.attempt, settled.redirect_to),
        *(settled.retry_at_s or None, visit.source),
    )


def dropped_row(url: str, reason: str, source: str, at_s: float) -> tuple[Any, ...]:
    return (url, restore(url).host, "", Outcome.DROPPED.value, reason, 0, "", at_s, 0.0, 0, 0, "", None, source)


def requeued_row(url: str, source: str, at_s: float) -> tuple[Any, ...]:
    """Says that the outcome before it is not the last word."""
    return (url, restore(url).host, "", Outcome.RETRY.value, REQUEUED, 0, "", at_s, 0.0, 0, 0, "", at_s, source)
