"""Kinds of links, and nofollow."""

from typing import Literal

import pytest

from whimbrel.parse.api import PageLink
from whimbrel.route.link_rule import LinkRule, page_refusal


@pytest.mark.parametrize(
    ("follow", "requisites", "followed"),
    [
        ("links", False, ["a", "sitemap", "handler"]),
        ("links", True, ["a", "sitemap", "handler", "img"]),
        ("handlers", False, ["handler"]),
        ("handlers", True, ["handler"]),
    ],
)
def test_the_kind_of_a_link_says_whether_it_is_followed(
    follow: Literal["links", "handlers"], followed: list[str], *, requisites: bool
) -> None:
    rule = LinkRule(follow, requisites=requisites, nofollow_links=True)
    reasons = {kind: rule.refusal(PageLink("http://a.test/", kind=kind)) for kind in ("a", "sitemap", "handler", "img")}
    assert [kind for kind, reason in reasons.items() if not reason] == followed
    assert set(reasons.values()) <= {"", "not-followed"}
    assert rule.refusal(PageLink("http://a.test/", kind="form")) == "not-followed"


def test_nofollow_of_a_page_always_counts_and_that_of_a_link_if_asked_for() -> None:
    assert page_refusal(("nofollow", "noindex")) == "nofollow"
    assert page_refusal(("noindex",)) == ""
    link = PageLink("http://a.test/", rel="external nofollow")
    assert LinkRule("links", requisites=False, nofollow_links=False).refusal(link) == "nofollow"
    assert LinkRule("links", requisites=False, nofollow_links=True).refusal(link) == ""
