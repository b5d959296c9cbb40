"""The speed of the crawl as a whole, by a clock of the test's own."""

from whimbrel.frontier.speed_limit import Rate


def let_out(rate: Rate, now_s: float) -> int:
    """As many as may go now."""
    count = 0
    while now_s >= rate.free_s:
        rate.let_out(now_s)
        count += 1
    return count


def test_a_second_is_caught_up_on_and_no_more() -> None:
    rate = Rate(pages_per_s=100.0, bytes_per_s=None)
    assert let_out(rate, 50.0) == 1  # Nothing to catch up on at the start.
    assert sum(let_out(rate, 50.0 + tick / 1000) for tick in range(1, 1001)) == 100
    assert let_out(rate, 51.9) == 90
    assert 100 <= let_out(rate, 60.0) <= 101


def test_a_limit_that_was_lifted_leaves_no_debt_and_no_credit() -> None:
    rate = Rate(pages_per_s=2.0, bytes_per_s=None)
    rate.let_out(50.0)
    rate.limit(None, None)
    assert not rate.holds_back(0.0)
    rate.limit(2.0, None)
    assert let_out(rate, 60.0) == 1


def test_bytes_are_paid_for_one_after_the_other() -> None:
    rate = Rate(pages_per_s=None, bytes_per_s=1_000)
    rate.received(500, 10.0)
    rate.received(1_000, 10.0)
    assert rate.free_s == 11.5
    rate.received(1_000, 12.0)  # Half a second late, which is caught up on.
    assert rate.free_s == 12.5
    rate.received(1_000, 20.0)
    assert rate.free_s == 20.0
