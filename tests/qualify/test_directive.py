"""X-Robots-Tag and robots meta tags."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whimbrel.parse.robots_directive import directives, header_directives

BOTH = ("nofollow", "noindex")


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("", ()),
        ("noindex", ("noindex",)),
        ("noindex, nofollow", BOTH),
        ("NoIndex ,NOFOLLOW,noindex", BOTH),
        ("none", BOTH),
        ("all", ()),
        ("index, follow", ()),
        ("googlebot: nofollow", ()),
        ("whimbrel: nofollow", ("nofollow",)),
        ("Whimbrel/1.0: nofollow", ("nofollow",)),
        ("whimbrel: nofollow, noindex, otherbot: none", BOTH),
        ("otherbot: noindex, nofollow", ()),
        ("otherbot: noindex, whimbrel: noarchive", ("noarchive",)),
        ("noarchive, otherbot: none", ("noarchive",)),
        ("robots: nofollow", ("nofollow",)),
        ("unavailable_after: 25 Jun 2010 15:00:00 PST", ()),
        ("unavailable_after: Friday, 25-Jun-10 15:00:00 GMT, nofollow", ("nofollow",)),
        ("unavailable_after: Fri, 25 Jun 2010, 15:00:00 GMT, nofollow", ("nofollow",)),
        ("otherbot: unavailable_after: 25 Jun 2010 15:00:00 PST, nofollow", ()),
        ("max-snippet:-1, max-image-preview:large, noindex", ("noindex",)),
        (",,:, ,", ()),
    ],
)
def test_a_header_asks_what_it_says_of_whom_it_names(value: str, found: tuple[str, ...]) -> None:
    assert header_directives(value, "whimbrel") == found
    assert header_directives(value, "Whimbrel/2.0 (+https://example.org)") == found


def test_meta_tags_for_all_and_for_us_are_added_up() -> None:
    tags = [("robots", "noindex, FOLLOW"), ("Whimbrel", "nofollow"), ("googlebot", "noarchive"), ("", "nosnippet")]
    assert directives(tags, "whimbrel") == ("nofollow", "noindex", "nosnippet")
    assert directives([], "whimbrel") == ()


@given(st.text(max_size=60))
def test_no_value_raises(value: str) -> None:
    found = header_directives(value, "whimbrel")
    assert list(found) == sorted(set(found))
