"""One function for Retry-After, whatever the request was for."""

import time
from collections.abc import Iterator
from email.utils import formatdate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whimbrel.fetch.api import Exchange, Response
from whimbrel.fetch.body import MemoryDocument
from whimbrel.fetch.trouble import Trouble
from whimbrel.outcome import MAX_RETRY_AFTER_S, asked_wait_s, asks_to_slow_down, retry_after_s

NOW_S = 1_800_000_000.0


def http_date(at_s: float) -> str:
    return formatdate(at_s, usegmt=True)


@pytest.mark.parametrize(
    ("value", "date", "wait_s"),
    [
        (None, None, 0.0),
        ("", None, 0.0),
        ("120", None, 120.0),
        (" 120 ", None, 120.0),
        ("0" * 20 + "7", None, 7.0),
        ("0000000000000300", None, 300.0),
        ("9" * 5000, None, MAX_RETRY_AFTER_S),
        ("soon", None, 0.0),
        ("-5", None, 0.0),
        ("1.5", None, 0.0),
        ("٣", None, 0.0),
        (http_date(NOW_S + 60), None, 60.0),
        (http_date(NOW_S - 60), None, 0.0),
        (http_date(NOW_S + 2**32), None, MAX_RETRY_AFTER_S),
        (http_date(500), http_date(470), 30.0),
        (http_date(NOW_S + 60), "yesterday", 60.0),
    ],
)
def test_seconds_and_dates_are_understood_up_to_a_day(value: str | None, date: str | None, wait_s: float) -> None:
    assert retry_after_s(value, date, NOW_S) == wait_s


@pytest.fixture
def elsewhere() -> Iterator[None]:
    """A machine whose local time is not universal time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", "JST-9")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.usefixtures("elsewhere")
@pytest.mark.parametrize(
    "date", ["Fri, 15 Jan 2027 08:01:00 -0000", "Fri, 15 Jan 2027 08:01:00", "Fri Jan 15 08:01:00 2027"]
)
def test_a_date_without_a_zone_is_in_universal_time(date: str) -> None:
    assert retry_after_s(date, None, NOW_S) == 60.0


@given(value=st.text(), date=st.text())
def test_no_header_raises(value: str, date: str) -> None:
    assert 0.0 <= retry_after_s(value, date, NOW_S) <= MAX_RETRY_AFTER_S


def test_two_statuses_ask_to_slow_down_and_so_does_every_answer_that_asks_us_to_wait() -> None:
    assert [status for status in range(600) if asks_to_slow_down(status, 0.0)] == [429, 503]
    assert all(asks_to_slow_down(status, 1.0) for status in (403, 404, 429, 500, 503))


def answered(status: int, **headers: str) -> Exchange:
    response = Response(status, b"", "1.1", headers, MemoryDocument(b""))
    return Exchange(response, Trouble.NONE, True, "192.0.2.1", b"", NOW_S - 2.0, 2.0)


@pytest.mark.parametrize(
    ("status", "wait_s"),
    [
        (200, 0.0),
        (301, 0.0),
        (304, 0.0),
        (403, 60.0),
        (404, 0.0),
        (410, 0.0),
        (429, 60.0),
        (500, 60.0),
        (501, 60.0),
        (503, 60.0),
    ],
)
def test_retry_after_counts_with_errors_that_limit_visitors_and_with_nothing_else(status: int, wait_s: float) -> None:
    assert asked_wait_s(answered(status, **{"retry-after": "60"})) == wait_s
    assert asked_wait_s(answered(status, **{"retry-after": http_date(NOW_S + 60)})) == wait_s
    assert asked_wait_s(answered(status)) == 0.0


def test_no_answer_asks_for_nothing() -> None:
    assert asked_wait_s(Exchange(None, Trouble.TIMEOUT, False, "192.0.2.1", b"", NOW_S, 1.0)) == 0.0
