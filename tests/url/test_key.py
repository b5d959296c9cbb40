"""Keys are of the text alone, differ by secret, and slots are the same for ever."""

import subprocess
import sys

import pytest

from whimbrel.url import SLOTS, Keys, slot

SECRET = bytes(range(32))


def test_keys_have_the_sizes_that_the_state_relies_on() -> None:
    keys = Keys(SECRET)
    assert len(keys.url("http://example.com/")) == 16
    assert len(keys.host("http://example.com:80")) == 8


def test_the_same_text_has_the_same_key_and_another_secret_another_one() -> None:
    text = "http://example.com/a?b"
    assert Keys(SECRET).url(text) == Keys(SECRET).url(text)
    assert Keys(SECRET).url(text) != Keys(SECRET[::-1]).url(text)


def test_case_and_order_make_a_difference() -> None:
    keys = Keys(SECRET)
    texts = ("http://a.test/x", "http://a.test/X", "http://a.test/x?", "http://a.test/x?a&b", "http://a.test/x?b&a")
    assert len({keys.url(text) for text in texts}) == len(texts)


def test_a_short_secret_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 16"):
        Keys(b"short")


def test_slots_never_change() -> None:
    names = ("example.com", "s12.test", "bücher.example", "")
    here = [slot(name) for name in names]
    assert all(0 <= number < SLOTS for number in here)
    # These numbers are in the state of every crawl: a change of them is a change of the format.
    assert here == [883, 945, 761, 194]
    code = f"from whimbrel.url import slot; print([slot(name) for name in {names!r}])"
    there = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert there.strip() == str(here)


def test_slots_are_evenly_used() -> None:
    used = [0] * SLOTS
    for number in range(50 * SLOTS):
        used[slot(f"s{number}.test")] += 1
    assert min(used) > 15
    assert max(used) < 100
