"""A value that no table can hold costs itself: not the commit, and not those that come after it."""

from pathlib import Path

import msgspec
import pytest

from tests.commit.test_journal import on_a_loop, opened, settled, urls
from tests.fault.crawl import rows
from whimbrel.facts.repair import repaired
from whimbrel.parse.api import Handled

COLUMNS = (("url", "string"), ("price", "int64"))


def priced(value: object) -> Handled:
    item = ("product", COLUMNS, ["http://a.test/1", value], b"key")
    return Handled(handlers="make", version="1", outcome="ok", items=[item])


@pytest.mark.parametrize("value", [2**63, 2**64 - 1, -(2**63) - 1, "text", 10**400])
@on_a_loop
async def test_a_value_of_an_item_that_no_column_holds_is_left_out_and_told(tmp_path: Path, value: object) -> None:
    async with opened(tmp_path) as journal:
        journal.add(msgspec.structs.replace(settled(1), handled=priced(value)))
        journal.add(msgspec.structs.replace(settled(2), handled=priced(2**63 - 1)))
        await journal.checkpoint()
        journal.add(settled(3))
        await journal.checkpoint()
        assert (journal.trouble, journal.shortage, journal.last.number) == ("", None, 2)
        await journal.conclude("done")
        assert journal.last.counters.lost_values == 1
    assert urls(tmp_path) == [f"http://a.test/{number}" for number in (1, 2, 3)]
    found = rows(tmp_path, "select subject, detail from events where action = 'value-lost'")
    assert [row["subject"] for row in found] == ["http://a.test/1"]
    assert found[0]["detail"].startswith("product.price: ")


@on_a_loop
async def test_a_page_whose_row_has_an_impossible_number_is_kept(tmp_path: Path) -> None:
    poison = settled(1)
    deep = msgspec.structs.replace(poison, visit=msgspec.structs.replace(poison.visit, depth=10**20))
    async with opened(tmp_path) as journal:
        journal.add(deep)
        journal.add(settled(2))
        await journal.checkpoint()
        await journal.conclude("done")
    assert urls(tmp_path) == ["http://a.test/1", "http://a.test/2"]
    (found,) = rows(tmp_path, "select subject, detail from events where action = 'value-lost'")
    assert found["detail"].startswith("captures.depth: ")


def test_rows_that_can_be_kept_are_left_as_they_are() -> None:
    events = [(1.0, "a", "b", "c", "d")]
    assert repaired({"events": events, "hosts": []}) == ({"events": events, "hosts": []}, [])
