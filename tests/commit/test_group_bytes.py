"""What a group says that it takes, against what it really takes, for visits that are as hostile as they can be."""

import gc
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest

from tests.commit.test_journal import settled
from whimbrel.facts.row import EventRow
from whimbrel.fetch.api import Exchange, Response
from whimbrel.fetch.body import MemoryDocument
from whimbrel.fetch.head import read_head
from whimbrel.fetch.trouble import Trouble
from whimbrel.outcome import Outcome
from whimbrel.parse.api import Handled, Links, PageLink, ParsedPage
from whimbrel.result.work import SettledVisit, Work
from whimbrel.state.group import Group
from whimbrel.url import restore
from whimbrel.visit import Request, Visit

VISIT = Visit(Request(restore("http://a.test/")), 0, "", 0, 1, "127.0.0.1", b"")
Fill = Callable[[Work, Group, int], None]


def page_of(**said: object) -> SettledVisit:
    return SettledVisit(VISIT, Outcome.STORED, "new", 1.0, page=ParsedPage("text/html", **said))  # type: ignore[arg-type]


def text(work: Work, _: Group, number: int) -> None:
    work.add_visit(page_of(text=f"{number}" + "\N{GRINNING FACE}" * 50_000))


def long_links(work: Work, _: Group, number: int) -> None:
    links = [PageLink(f"http://a.test/{number}/{at}/{'a' * 16_000}") for at in range(20)]
    work.add_visit(page_of(links=Links.of(links)))


def many_links(work: Work, _: Group, number: int) -> None:
    links = [PageLink(f"http://a.test/{number}/{at}", anchor=f"{at}" * 20, rel=f"x{at}") for at in range(1_000)]
    work.add_visit(page_of(links=Links.of(links)))


def headers(work: Work, _: Group, number: int) -> None:
    lines = [b"HTTP/1.1 200 OK\r\n", *(b"x%d-%d: y\r\n" % (at, number) for at in range(4_900)), b"\r\n"]
    found = read_head(lines)
    assert found is not None
    response = Response(200, found.head, "1.1", found.headers, MemoryDocument(b""))
    exchange = Exchange(response, Trouble.NONE, True, "127.0.0.1", b"", 1.0, 1.0)
    work.add_visit(SettledVisit(VISIT, Outcome.STORED, "new", 1.0, exchange))


def items(work: Work, _: Group, number: int) -> None:
    columns = (("text", "string"), ("number", "int64"))
    made: list[Any] = [("thing", columns, [f"{number} {at} {'x' * 100}", at], b"") for at in range(1_000)]
    handled = Handled(handlers="h", version="1", outcome="ok", items=made, bytes=1_000 * (400 + 2 * 50 + 120))
    work.add_visit(SettledVisit(VISIT, Outcome.STORED, "new", 1.0, handled=handled))


def small_bodies(work: Work, _: Group, number: int) -> None:
    work.add_visit(settled(number, 10))


def dropped(work: Work, _: Group, number: int) -> None:
    for at in range(20):
        work.add_dropped(restore(f"http://a.test/{number}/{at}/{'a' * 16_000}"), "too-long", "http://a.test/", 1.0)


def events(work: Work, _: Group, number: int) -> None:
    work.add_event(EventRow(1.0, "crawl", "clamped", f"{number}" * 2_000, f"{number}" * 2_000))


def queued(_: Work, group: Group, number: int) -> None:
    for at in range(100):
        key = number.to_bytes(8, "big") + at.to_bytes(8, "big")
        group.set("urls", key, b"")
        group.set("queue", key, b"%d" % at * 1_000)


def small_changes(_: Work, group: Group, number: int) -> None:
    for at in range(500):
        group.set("urls", number.to_bytes(9, "big") + at.to_bytes(9, "big"), b"%d" % at)


def robots(_: Work, group: Group, number: int) -> None:
    group.set("robots", number.to_bytes(10, "big"), b"Disallow: /%d\n" % number * 30_000)


KINDS = [text, long_links, many_links, headers, items, small_bodies, dropped, events, queued, small_changes, robots]


@pytest.mark.parametrize("fill", KINDS, ids=lambda kind: kind.__name__)
def test_what_a_group_takes_is_charged(fill: Fill) -> None:
    work, group = Work(), Group(1)
    gc.collect()
    tracemalloc.start()
    try:
        for number in range(40):
            fill(work, group, number)
        gc.collect()
        taken = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    charged = work.bytes + group.bytes
    assert 0.8 * taken < charged, f"{taken:,} bytes are taken, {charged:,} are charged"
    assert charged < 5 * taken + 100_000, f"{taken:,} bytes are taken, {charged:,} are charged"
