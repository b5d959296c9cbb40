"""Frames and payloads: what goes in comes out, and what is torn never shows."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.facts import sample
from whimbrel.facts.api import TABLES
from whimbrel.facts.frame import HEAD_BYTES, FrameBroken, frame, heads, latest_number, read_payload
from whimbrel.facts.links import PageLinks
from whimbrel.facts.payload import arrow_table, payload, read_payload_tables
from whimbrel.facts.schema import schema


def written(number: int, rows: Any) -> bytes:
    return b"".join(map(bytes, frame(number, payload(rows))))


@contextmanager
def opened(data: bytes) -> Iterator[int]:
    fd = os.memfd_create("tail")
    try:
        os.pwrite(fd, data, 0)
        yield fd
    finally:
        os.close(fd)


def as_tuples(table: str, data: Any) -> list[tuple[Any, ...]]:
    plain = data.cast(schema(table))
    rows = zip(*(column.to_pylist() for column in plain.columns), strict=True)
    times = {at for at, (_, kind) in enumerate(TABLES[table]) if kind == "time"}
    return [tuple(v.timestamp() if at in times and v else v for at, v in enumerate(row)) for row in rows]


@settings(deadline=None, max_examples=60)
@given(st.fixed_dictionaries({}, optional={table: sample.rows_of(table) for table in TABLES}), st.integers(1, 2**63))
def test_rows_come_back_as_they_were(rows: dict[str, list[tuple[Any, ...]]], number: int) -> None:
    parts = payload(rows)
    back = read_payload_tables(b"".join(map(bytes, parts)), 0) if parts else {}
    assert {table: as_tuples(table, data) for table, data in back.items()} == {t: r for t, r in rows.items() if r}


@settings(deadline=None, max_examples=60)
@given(st.lists(st.one_of(sample.page_links(), st.tuples(*[sample.KEYS] * 3, *[sample.TEXTS] * 5)), max_size=8))
def test_links_by_page_and_one_by_one_are_the_same_rows_in_order(rows: list[tuple[Any, ...] | PageLinks]) -> None:
    if rows:
        assert as_tuples("links", arrow_table("links", rows)) == sample.flat(rows)


def test_a_tail_torn_at_any_byte_gives_its_whole_frames_and_then_says_so() -> None:
    frames = [written(n, {"links": [sample.links(n)]}) for n in (1, 2, 3)]
    ends = [sum(map(len, frames[:count])) for count in range(4)]
    with opened(b"".join(frames)) as fd:
        for length in range(ends[-1], -1, -1):
            os.ftruncate(fd, length)
            whole = sum(end <= length for end in ends) - 1
            torn = length - ends[whole]
            assert [head.number for head in heads(fd, ends[whole])] == [1, 2, 3][:whole]
            assert latest_number(fd, 0) == (whole + 1 if torn >= HEAD_BYTES else whole)
            if torn:
                with pytest.raises(FrameBroken):
                    list(heads(fd, length))


def test_any_flipped_byte_is_noticed() -> None:
    data = written(7, {"events": [(1.0, "me", "stop", "all", "")]})
    with opened(data) as fd:
        for at, byte in enumerate(data):
            os.pwrite(fd, bytes([byte ^ 0x10]), at)
            with pytest.raises(FrameBroken):
                [read_payload(fd, head) for head in heads(fd, len(data))]
            os.pwrite(fd, bytes([byte]), at)
        assert len([read_payload(fd, head) for head in heads(fd, len(data))]) == 1


def test_a_payload_that_is_cut_off_is_noticed() -> None:
    data = written(7, {"events": [(1.0, "me", "stop", "all", "")]})
    with opened(data[:-1]) as fd, pytest.raises(FrameBroken, match="ends inside the frame of commit 7"):
        [read_payload(fd, head) for head in heads(fd, len(data))]


@pytest.mark.parametrize("data", [b"", b"\xff\0\0\0{", b'\x09\0\0\0[["a",9]]', b'\x0c\0\0\0[["a",-123]]'])
def test_a_payload_that_holds_no_tables_is_damage_even_if_its_check_sum_is_right(data: bytes) -> None:
    whole = b"".join(map(bytes, frame(7, [data])))
    with opened(whole) as fd:
        (head,) = heads(fd, len(whole))
        with pytest.raises(FrameBroken, match="at byte 0: its tables cannot be read"):
            read_payload_tables(read_payload(fd, head), head.offset)


def test_a_lone_surrogate_costs_one_character_and_not_the_page() -> None:
    table = arrow_table("captures", [sample.capture(1, "a\ud800b"), sample.capture(2, "fine")])
    assert table["text"].to_pylist() == ["a?b", "fine"]
    assert arrow_table("links", [(1, 2, 3, "s\udfff", "t", "a", "", "a")])["source"].to_pylist() == ["s?"]


def test_times_without_end_become_the_latest_that_a_date_can_say() -> None:
    rows = [(at, "a", "b", "c", "d") for at in (float("inf"), float("-inf"), float("nan"), None, 0.000001)]
    shown = arrow_table("events", rows)["at"].to_pylist()
    assert [at and (at.year, at.microsecond) for at in shown] == [(9999, 0), (1, 0), None, None, (1970, 1)]


def test_a_row_of_the_wrong_width_is_refused() -> None:
    with pytest.raises(ValueError, match="columns"):
        arrow_table("events", [(1.0, "me")])
    with pytest.raises(KeyError):
        payload({"nonsense": [(1,)]})
