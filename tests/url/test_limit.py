"""Limits cut traps in the order of docs/outcomes.md."""

import pytest

from tests.url.odd_links import url
from whimbrel.url import Limits, query_group

HOST = "http://a.test"


@pytest.mark.parametrize(
    ("text", "depth", "reason"),
    [
        (HOST + "/", 0, ""),
        (HOST + "/" + "l" * (2048 - len(HOST) - 1), 0, ""),
        (HOST + "/" + "l" * (2048 - len(HOST)), 0, "too-long"),
        (HOST + "".join(f"/{n}" for n in range(20)), 0, ""),
        (HOST + "".join(f"//{n}/" for n in range(20)), 0, ""),
        (HOST + "".join(f"/{n}" for n in range(21)), 0, "too-many-segments"),
        (HOST + "/a/a", 0, ""),
        (HOST + "/a/a/a", 0, "repeating-segments"),
        (HOST + "/a//a/a/", 0, "repeating-segments"),
        (HOST + "/a/b/a/b/a/b", 0, "repeating-segments"),
        (HOST + "/x/a/b/a/b/a/c", 0, ""),
        (HOST + "/a/x/a/y/a/z/a", 0, ""),
        (HOST + "/x?y=/a/a/a", 0, ""),
        (HOST + "/x", 20, ""),
        (HOST + "/x", 21, "too-many-hops"),
        (HOST + "/a" * 21, 21, "too-many-segments"),
        (HOST + "/a" * 20, 21, "repeating-segments"),
    ],
)
def test_a_url_is_cut_with_the_first_reason(text: str, depth: int, reason: str) -> None:
    assert Limits().cut(url(text), depth) == reason


def test_a_limit_of_none_is_no_limit() -> None:
    lifted = Limits(length=None, segments=None, repeats=None, hops=None)
    assert lifted.cut(url(HOST + "/a" * 2000), 1000) == ""


def test_repeats_of_less_than_one_mean_nothing() -> None:
    with pytest.raises(ValueError, match="repeats"):
        Limits(repeats=0)


@pytest.mark.parametrize(
    ("text", "group"),
    [
        (HOST + "/x", None),
        (HOST + "/x?", None),
        (HOST + "/x?b=1&a=2&b=3", HOST + "/x?a&b"),
        (HOST + "/x?a", HOST + "/x?a"),
        (HOST + "/x?a=1=2", HOST + "/x?a"),
        (HOST + "/x?&", HOST + "/x?"),
    ],
)
def test_urls_with_the_same_query_keys_are_one_group(text: str, group: str | None) -> None:
    assert query_group(url(text)) == group
