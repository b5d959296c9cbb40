"""Whole numbers at the ends of what a column holds."""

import pytest

import whimbrel as w
from tests.handle.test_hostile import handled
from whimbrel.handle.item import values_of


class Count(w.Item):
    number: int | None


@pytest.mark.parametrize("number", [2**31, -(2**31) - 1, 2**63 - 1, -(2**63), 0, None])
def test_a_number_of_64_bits_is_kept(number: int | None) -> None:
    assert values_of(Count(number)) == [number]


@pytest.mark.parametrize("number", [2**63, 2**64 - 1, -(2**63) - 1, 2**64, 10**400])
def test_a_number_that_no_column_holds_costs_its_page_the_items_and_says_so(number: int) -> None:
    with pytest.raises(OverflowError, match="declare the field as str or float"):
        values_of(Count(number))
    first, second, third = handled(lambda _: [Count(number)])
    assert (first.outcome, third.outcome) == ("ok", "ok")
    assert (second.outcome, second.items) == ("error", [])
    assert "does not fit into 64 bits" in second.error
