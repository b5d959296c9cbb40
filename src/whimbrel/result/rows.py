"""Rows of the tables, made from visits that are over."""

from hashlib import blake2b
from typing import Any, Final

from whimbrel.archive.api import RecordPlace
from whimbrel.archive.record import digest_text
from whimbrel.dedupe.simhash import simhashes
from whimbrel.facts.identity import UrlIds, capture_id
from whimbrel.facts.item import HIDDEN, ItemRows
from whimbrel.facts.links import PageLinks
from whimbrel.facts.row import CaptureRow, FetchRow, HandledRow, HostRow
from whimbrel.fetch.api import Response
from whimbrel.frontier.api import HostSummary
from whimbrel.outcome import CONTENT, Outcome
from whimbrel.parse.api import READ_IN_PART, Handled, ParsedPage
from whimbrel.result.work import SettledVisit, Work
from whimbrel.url import Url

REQUEUED: Final = "requeued"
_NO_PAGE: Final = ParsedPage("")
_NO_PLACE: Final = RecordPlace("", 0, 0)


def rows(work: Work, places: list[RecordPlace | None], ids: UrlIds, *, text: bool, simhash: bool) -> dict[str, Any]:
    """All tables' new rows; `places` has one for each visit, None where nothing went to the archive."""
    captured = [pair for pair in zip(work.visits, places, strict=True) if pair[0].captures]
    texts = [_page(settled).text for settled, _ in captured]
    hashes = simhashes(texts) if simhash else [None] * len(captured)
    captures = [capture_row(*capture, found, ids, text=text) for capture, found in zip(captured, hashes, strict=True)]
    links = [
        page_links(settled, capture.capture_id, ids)
        for (settled, _), capture in zip(captured, captures, strict=True)
        if _page(settled).links
    ]
    fetches = [fetch_row(settled) for settled in work.visits]
    fetches += [dropped_row(*dropped) for dropped in work.dropped]
    fetches += [requeued_row(*requeued) for requeued in work.requeued]
    found: dict[str, Any] = {"captures": captures, "links": links, "fetches": fetches}
    found |= {"hosts": work.hosts, "events": work.events}
    return {table: new for table, new in found.items() if new} | _items(work)


def _items(work: Work) -> dict[str, Any]:
    """What handlers made: a row of `handled` for each page they looked at, and their items, table by table."""
    found: dict[str, Any] = {table: ItemRows((*columns, *HIDDEN), []) for table, columns in work.tables.items()}
    runs: list[Any] = []
    looked = [
        (settled.visit.url.text, _capture_id(settled), settled.at_s, settled.handled)
        for settled in work.visits
        if settled.handled is not None and settled.outcome in CONTENT
    ]
    for url, capture, at_s, handled in (*looked, *work.handled):
        run, rows = handled_rows(url, capture, at_s, handled)
        runs.append(run)
        for table, columns, row in rows:
            if table not in found:
                found[table] = ItemRows((*columns, *HIDDEN), [])
            found[table].rows.append(row)
    return found | ({"handled": runs} if runs else {})


def handled_rows(
    url: str, capture: int, at_s: float, handled: Handled
) -> tuple[HandledRow, list[tuple[str, tuple[tuple[str, str], ...], tuple[Any, ...]]]]:
    """The row of `handled`, and for each item its table, columns and row."""
    # Not xxh3, which is easy to collide on purpose: a page must not hide what was made of another.
    run = int.from_bytes(blake2b(f"{url}\n{handled.version}\n{at_s!r}".encode(), digest_size=8).digest())
    items = [
        (table, columns, (*values, run, url, capture, at_s, key or b"%d %d" % (run, number)))
        for number, (table, columns, values, key) in enumerate(handled.items)
    ]
    row = HandledRow(
        run=run,
        capture_id=capture,
        url=url,
        handlers=handled.handlers,
        version=handled.version,
        at=at_s,
        outcome=handled.outcome,
        items=len(items),
        elapsed_ms=handled.elapsed_ms,
        error=handled.error,
        printed=handled.printed,
    )
    return row, items


def capture_row(
    settled: SettledVisit, place: RecordPlace | None, simhash: int | None, ids: UrlIds, *, text: bool
) -> CaptureRow:
    exchange, visit, url = settled.exchange, settled.visit, settled.visit.url.text
    response = None if exchange is None else exchange.response
    if response is None:
        raise AssertionError("a capture without a response")
    page, where = _page(settled), place or _NO_PLACE
    original = settled.earlier if settled.outcome is Outcome.DUPLICATE else None
    return CaptureRow(
        capture_id=_capture_id(settled),
        id=ids[url],
        url=url,
        host=visit.url.host,
        outcome=settled.outcome.value,
        via=settled.via,
        status=response.status,
        mime=page.mime,
        charset=page.charset,
        length=_length(page, response),
        wire_bytes=response.document.size,
        title=page.title,
        description=page.description,
        language=page.language,
        canonical=page.canonical,
        robots_meta=",".join(page.robots),
        depth=visit.depth,
        fetched_at=settled.at_s,
        etag=response.headers.get("etag", ""),
        last_modified=response.headers.get("last-modified", ""),
        digest=digest_text(settled.digest),
        fingerprint=int.from_bytes(settled.digest[:8], "big"),
        simhash=simhash,
        duplicate_of="" if original is None else original.url,
        duplicate_of_id=None
        if original is None
        else original.legacy_id or capture_id(original.url, original.at_s, settled.digest),
        truncated=response.truncated or (page.trouble if page.trouble in READ_IN_PART else ""),
        warc_file=where.file,
        warc_offset=where.offset,
        warc_length=where.length,
        text=page.text if text else "",
    )


def _capture_id(settled: SettledVisit) -> int:
    return capture_id(settled.visit.url.text, settled.at_s, settled.digest)


def _page(settled: SettledVisit) -> ParsedPage:
    """What the document says; nothing where there is none, or where an earlier capture of the URL has it."""
    return settled.page if settled.page is not None and settled.outcome in CONTENT else _NO_PAGE


def _length(page: ParsedPage, response: Response) -> int:
    return response.document.size if page is _NO_PAGE else page.length


def page_links(settled: SettledVisit, capture: int, ids: UrlIds) -> PageLinks:
    links, source = _page(settled).links, settled.visit.url.text
    keys = list(map(ids.__getitem__, links.targets))
    return PageLinks(capture, ids[source], source, keys, links.targets, links.anchors, links.rels, links.kinds)


def fetch_row(settled: SettledVisit) -> FetchRow:
    exchange, visit = settled.exchange, settled.visit
    response = None if exchange is None else exchange.response
    return FetchRow(
        url=visit.url.text,
        host=visit.url.host,
        ip=visit.address,
        outcome=settled.outcome.value,
        reason=settled.reason,
        status=0 if response is None else response.status,
        http_version="" if response is None else response.http_version,
        started_at=settled.at_s,
        elapsed_ms=0.0 if exchange is None else round(exchange.elapsed_s * 1000, 3),
        bytes=0 if response is None else response.document.size,
        attempt=visit.attempt,
        redirect_to=settled.redirect_to,
        retry_at=settled.retry_at_s or None,
        discovered_from=visit.source,
    )


def dropped_row(url: Url, reason: str, source: str, at_s: float) -> FetchRow:
    return _unvisited_row(url, Outcome.DROPPED, reason, source, at_s, None)


def requeued_row(url: Url, source: str, at_s: float) -> FetchRow:
    """Says that the outcome before it is not the last word."""
    return _unvisited_row(url, Outcome.RETRY, REQUEUED, source, at_s, at_s)


def _unvisited_row(
    url: Url, outcome: Outcome, reason: str, source: str, at_s: float, retry_at_s: float | None
) -> FetchRow:
    return FetchRow(
        url=url.text,
        host=url.host,
        ip="",
        outcome=outcome.value,
        reason=reason,
        status=0,
        http_version="",
        started_at=at_s,
        elapsed_ms=0.0,
        bytes=0,
        attempt=0,
        redirect_to="",
        retry_at=retry_at_s,
        discovered_from=source,
    )


def host_row(host: HostSummary) -> HostRow:
    name = host.name
    return HostRow(
        site=name.site,
        host=name.host,
        domain=name.domain,
        slot=name.slot,
        ip=host.address,
        qualification=host.standing,
        until=host.until_s,
        robots_date=host.robots_at_s,
        robots_status=host.robots_status,
        robots_failures=host.failures,
        delay_s=host.crawl_delay_s,
        queued=host.queued,
        fetched=host.fetched,
        failed=host.failed,
        last_error=host.last_error,
    )
