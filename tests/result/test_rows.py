"""Rows of the tables, as they are made from what happened."""

from itertools import product

import pytest

from whimbrel.facts.api import TABLES
from whimbrel.facts.identity import UrlIds, capture_id, url_id
from whimbrel.facts.row import CaptureRow, EventRow, FetchRow, HandledRow, HostRow, Row
from whimbrel.result.rows import dropped_row, requeued_row
from whimbrel.url import restore


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://a.test/x", "a.test"),
        ("http://a.test:8080/", "a.test"),
        ("http://[::1]/", "[::1]"),
        ("http://[2001:db8::2]:8080/x", "[2001:db8::2]"),
    ],
)
def test_the_host_of_a_url_that_was_not_visited_is_its_name(url: str, host: str) -> None:
    assert dropped_row(restore(url), "too-long", "", 1.0).host == host
    assert requeued_row(restore(url), "", 1.0).host == host


@pytest.mark.parametrize(
    ("table", "kind"),
    [
        ("captures", CaptureRow), ("fetches", FetchRow), ("hosts", HostRow), ("events", EventRow),
        ("handled", HandledRow),
    ],
)  # fmt: skip
def test_a_row_has_the_columns_of_its_table_in_their_order(table: str, kind: type[Row]) -> None:
    assert kind.__struct_fields__ == tuple(name for name, _ in TABLES[table])


def test_a_capture_is_known_by_its_url_its_time_and_its_payload() -> None:
    urls, times, digests = ("http://a.test/", "http://b.test/"), (1.0, 1.000001), (b"", b"1" * 20)
    assert len({capture_id(*of) for of in product(urls, times, digests)}) == 8
    first, second = (capture_id("http://a.test/", at_s, b"") for at_s in (1794788395.397158, 1794788395.3971581))
    assert first == second


def test_the_memory_of_url_ids_has_a_bound_and_changes_no_id() -> None:
    ids = UrlIds()
    urls = [f"http://a.test/{number}" for number in range(100_010)]
    assert [ids[url] for url in urls[-20:]] == [url_id(url) for url in urls[-20:]]
    for url in urls:
        assert ids[url]
    assert len(ids) < 100_001
    assert ids[urls[0]] == url_id(urls[0])
