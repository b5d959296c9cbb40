"""Where readers of robots.txt differ from RFC 9309 (Protego 0.7 does in each of these), and that ours does not."""

import pytest

from whimbrel.qualify.robots import RobotsRules

ALL = "User-agent: *\n"
# What it is about, robots.txt, path, and whether RFC 9309 allows it.
DEVIATIONS = (
    ("a shorter token is not our token (2.2.1)", "User-agent: whim\nDisallow: /\n", "/x", True),
    ("a version is no part of the token (2.2.1)", "User-agent: Whimbrel/1.0\nDisallow: /\n", "/x", False),
    ("a byte order mark is no part of the first line", f"\ufeff{ALL}Disallow: /\n", "/x", False),
    ("only CR and LF end a line (2.2)", f"{ALL}Disallow: /a\u2028b\n", "/a", True),
    (
        "an unknown line ends no group (2.2.4)",
        "User-agent: whimbrel\nFoo: 1\nUser-agent: b\nDisallow: /\n",
        "/x",
        False,
    ),
    (
        *("nor does Crawl-delay, which the standard does not know (2.2.4)",),
        *("User-agent: whimbrel\nCrawl-delay: 1\nUser-agent: b\nDisallow: /\n", "/x", False),
    ),
    ("$ is the end and nothing else (2.2.3)", f"{ALL}Disallow: /\nAllow: /*.html$\n", "/a.html$b", False),
    ("a file is not its folder (2.2.2)", f"{ALL}Disallow: /\nAllow: /index.html\n", "/", False),
    ("nor in a sub-folder", f"{ALL}Disallow: /\nAllow: /a/index.html\n", "/a/", False),
    ("octets that are not UTF-8 differ (2.2.2)", f"{ALL}Disallow: /%FF\n", "/%FE", True),
    (
        *("reserved characters are compared as escapes (2.2.2, second example)",),
        *(f"{ALL}Disallow: /foo/bar?baz=https%3A%2F%2Ffoo.bar\n", "/foo/bar?baz=https://foo.bar", False),
    ),
)


@pytest.mark.parametrize(
    ("text", "path", "allowed"), [row[1:] for row in DEVIATIONS], ids=[row[0] for row in DEVIATIONS]
)
def test_rules_follow_the_standard_where_others_do_not(text: str, path: str, allowed: bool) -> None:
    assert RobotsRules.parse(text, "whimbrel").allows(f"http://h.test{path}") == allowed
