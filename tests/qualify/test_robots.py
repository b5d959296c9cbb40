"""Rules: what RFC 9309 says, and files that mean harm."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whimbrel.qualify.robots import MAX_WILDCARDS, RobotsRules
from whimbrel.qualify.robots_body import robots_text
from whimbrel.qualify.robots_lines import product_token, read_records

SITE = "https://h.test"


def allowed(lines: str, path: str, agent: str = "whimbrel") -> bool:
    return RobotsRules.parse(lines, agent).allows(SITE + path)


@pytest.mark.parametrize(
    ("pattern", "path", "matches"),
    [
        # RFC 9309 §2.2.2 and §2.2.3.
        ("/foo/bar?baz=quz", "/foo/bar?baz=quz", True),
        ("/foo/bar/\u30c4", "/foo/bar/%E3%83%84", True),
        ("/foo/bar/%E3%83%84", "/foo/bar/%e3%83%84", True),
        ("/foo/bar/%62%61%7A", "/foo/bar/baz", True),
        ("/foo/bar/baz", "/foo/bar/%62%61%7A", True),
        ("/path/file-with-a-%2A.html", "/path/file-with-a-*.html", True),
        ("/path/file-with-a-%2A.html", "/path/file-with-a-b.html", False),
        ("/path/foo-%24", "/path/foo-$", True),
        ("/path/foo-%24", "/path/foo-", False),
        ("/a$b", "/a$b/c", True),
        ("/a$b", "/a", False),
        ("/fish", "/Fish.asp", False),
        ("/fish*", "/fishheads/yummy.html?id=1", True),
        ("/fish/", "/fish", False),
        ("/*.php", "/folder/filename.php?parameters", True),
        ("/*.php$", "/filename.php?parameters", False),
        ("/*.php$", "/filename.php5", False),
        ("/fish*.php", "/fishheads/catfish.php?id=1", True),
        ("*/x", "/a/x", True),
        ("x", "/x", False),
        ("/a//b", "/a//b", True),
        ("//b", "//b", True),
        ("/a?", "/a?", True),
        ("/a?", "/a", False),
        ("/a%", "/a%25", True),
        ("/%zz4", "/$", False),
        ("/%z4", "/$", False),
        ("/%m9", "/%E9", False),
    ],
)
def test_a_pattern_matches_what_the_standard_says(pattern: str, path: str, matches: bool) -> None:
    assert allowed(f"User-agent: *\nDisallow: {pattern}\n", path) != matches
    # The same for Allow, which is as long as what it is to overrule, or longer.
    assert allowed(f"User-agent: *\nDisallow: /\nAllow: {pattern}\n", path) == matches or pattern == "/"


@pytest.mark.parametrize(
    ("rules", "path", "verdict"),
    [
        ("Allow: /p\nDisallow: /", "/page", True),
        ("Allow: /folder\nDisallow: /folder", "/folder/page", True),
        ("Disallow: /folder\nAllow: /folder", "/folder/page", True),
        ("Allow: /page\nDisallow: /*.htm", "/page.htm", False),
        ("Allow: /$\nDisallow: /", "/", True),
        ("Allow: /$\nDisallow: /", "/page.htm", False),
        ("Disallow: /", "/robots.txt", True),
        ("Allow: /index.html\nDisallow: /", "/index.html", True),
        ("Allow: /index.html\nDisallow: /index.html/", "/index.html/", False),
        ("Disallow: /%*2F\nAllow: /%25a", "/%25a2F", False),
        ("Disallow: /*F", "/?", True),
        ("Disallow: /*A", "/%C3%A9", True),
        ("Disallow:", "/", True),
        ("Disallow /private/", "/private/1", False),
    ],
)
def test_the_longest_match_wins_and_allow_wins_a_tie(rules: str, path: str, verdict: bool) -> None:
    assert allowed(f"User-agent: *\n{rules}\n", path) == verdict


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("User-agent: *\nDisallow: /\n\nUser-agent: WHIMBREL\nDisallow:\n", True),
        ("User-agent: a\nUser-agent: whimbrel\n\n\nUser-agent: b\nDisallow: /\n", False),
        ("User-agent: whimbrel\nDisallow: /a\n\nUser-agent: whimbrel\nDisallow: /x\n", False),
        ("User-agent: whimbrelbot\nDisallow: /\n", True),
        ("User-agent: my-whimbrel\nDisallow: /\n", True),
        ("User-agent: whimbrel*\nDisallow: /\n", False),
        ("User-agent: *\nDisallow: /\nUser-agent:\nAllow: /x\n", False),
        ("User-agent: *\nSitemap: http://h/s\nDisallow: /\n", False),
        ("user-agent : whimbrel # us\r\ndisallow : / # all\r\n", False),
    ],
)
def test_groups_are_found_by_the_product_token_and_merged(text: str, verdict: bool) -> None:
    assert allowed(text, "/x") == verdict
    assert allowed(text, "/x", "Whimbrel/1.0 (+https://example.org/bot)") == verdict


def test_the_product_token_of_a_user_agent() -> None:
    assert product_token("Whimbrel/1.0 (+https://example.org)") == "whimbrel"
    assert product_token(" my-bot 2") == "my-bot"
    assert product_token("") == product_token("*") == "*"


@pytest.mark.parametrize(
    ("lines", "delay_s"),
    [("2", 2), ("0.5", 0.5), ("1000", 1000), ("-1", 0), ("nan", 0), ("inf", 0), ("1e999", 0), ("ten", 0), ("", 0)],
)
def test_a_crawl_delay_is_a_number_of_seconds_however_long(lines: str, delay_s: float) -> None:
    rules = RobotsRules.parse(f"User-agent: *\nCrawl-delay: {lines}\n", "whimbrel")
    assert (rules.crawl_delay_s, rules.empty) == (delay_s, True)


def test_the_longest_of_several_crawl_delays_counts_and_others_groups_do_not() -> None:
    text = "User-agent: *\nCrawl-delay: 3\nCrawl-delay: 1\nDisallow: /x\n\nUser-agent: b\nCrawl-delay: 9\nDisallow: /\n"
    assert RobotsRules.parse(text, "whimbrel").crawl_delay_s == 3


def test_rules_that_forbid_nothing_need_no_look_up() -> None:
    assert RobotsRules.parse("User-agent: *\nAllow: /\nDisallow:\n", "whimbrel").empty
    assert not RobotsRules.parse("User-agent: *\nDisallow: /x\n", "whimbrel").empty
    assert RobotsRules.parse("", "whimbrel").notes == ()


HOSTILE = {
    "many rules": "".join(f"Disallow: /{at}x\n" for at in range(100_000)),
    "many wildcards": "".join(f"Disallow: /*{at}x\n" for at in range(100_000)),
    "many stars": "".join("Disallow: /" + "*a" * 200 + f"{at}$\n" for at in range(1_200)),
    "one long pattern": "Disallow: /" + "*a" * 250_000 + "$\n",
    "back-tracking": "Disallow: /" + "*a" * 40 + "*b$\n",
    "one long line": "Disallow: /" + "a" * 512_000 + "\n",
    "a long name": "a" * 512_000 + ": /\n",
    "colons": ":" * 512_000,
    "many agents": "".join(f"User-agent: a{at}\n" for at in range(20_000)) + "Disallow: /zz\n" * 20_000,
    "us again and again": "User-agent: whimbrel\nCrawl-delay: 1\n" * 20_000 + "Disallow: /zz\n" * 5_000,
    "many sitemaps": "".join(f"Sitemap: http://h/{at}\n" for at in range(30_000)),
    "NULs": "Disallow: /\0\n\0\0\0" * 10_000,
    "escapes": "Disallow: /" + "%" * 500_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_costs_little(name: str) -> None:
    began = time.process_time()
    rules = RobotsRules.parse("User-agent: *\n" + HOSTILE[name], "whimbrel")
    assert time.process_time() - began < 4
    rules.allows(f"{SITE}/first")
    for path in ("/" + "a" * 2_000, "/" + "%41" * 600, "/$" * 900):
        began = time.process_time()
        rules.allows(SITE + path)
        assert time.process_time() - began < 0.1
    assert len(rules.sitemaps) <= 1_000


def test_a_url_is_looked_up_in_many_rules_as_quickly_as_in_few() -> None:
    rules = RobotsRules.parse("User-agent: *\n" + HOSTILE["many rules"], "whimbrel")
    began = time.process_time()
    for at in range(1_000):
        assert not rules.allows(f"{SITE}/{at}x/y")
    assert time.process_time() - began < 0.5


def test_wildcards_beyond_the_bound_forbid_more_and_never_allow_more() -> None:
    filler = "".join(f"Disallow: /f/*{at}\n" for at in range(MAX_WILDCARDS))
    rules = RobotsRules.parse(f"User-agent: *\n{filler}Disallow: /a/*x\nDisallow: /b\nAllow: /b/*y\n", "whimbrel")
    assert not rules.allows(f"{SITE}/a/no")
    assert not rules.allows(f"{SITE}/b/y")
    assert rules.allows(f"{SITE}/c")
    assert rules.notes


LINES = st.lists(
    st.one_of(
        st.text(max_size=30),
        st.builds(
            lambda field, value: f"{field}: {value}",
            st.sampled_from(["User-agent", "Disallow", "Allow", "Crawl-delay", "Sitemap", "x"]),
            st.one_of(st.text(max_size=12), st.text("/ab*$%2Fé", max_size=8), st.sampled_from(["*", "whimbrel"])),
        ),
    ),
    max_size=12,
).map("\n".join)


@given(LINES, st.text("/ab$%2F?é*", max_size=10))
def test_no_text_raises_and_robots_txt_itself_is_always_allowed(text: str, path: str) -> None:
    rules = RobotsRules.parse(text, "whimbrel")
    assert isinstance(rules.allows(f"{SITE}/{path}"), bool)
    assert rules.allows(f"{SITE}/robots.txt")
    if rules.empty:
        assert rules.allows(f"{SITE}/{path}")


@given(st.binary(max_size=200), st.sampled_from(["", "gzip", "deflate", "br", "zstd", "x"]))
def test_no_bytes_raise_and_the_text_can_be_written_as_utf_8(body: bytes, coding: str) -> None:
    text = robots_text(body, coding, 100)
    if text is not None:
        assert len(text.encode()) <= 300
        assert read_records(text, "whimbrel") == read_records(text.encode().decode(), "whimbrel")


@given(
    st.lists(st.tuples(st.booleans(), st.text("/ab*", max_size=6).map("/".__add__)), max_size=6),
    st.text("/ab", max_size=8),
)
def test_verdicts_equal_a_plain_reading_of_the_standard(rules: list[tuple[bool, str]], path: str) -> None:
    """Against a matcher that follows every way a star can go."""

    def matches(pattern: str, rest: str) -> bool:
        if not pattern:
            return True
        if pattern[0] == "*":
            return any(matches(pattern[1:], rest[at:]) for at in range(len(rest) + 1))
        return rest[:1] == pattern[0] and matches(pattern[1:], rest[1:])

    found = [(len(pattern), allow) for allow, pattern in rules if matches(pattern, f"/{path}")]
    text = "".join(f"{'Allow' if allow else 'Disallow'}: {pattern}\n" for allow, pattern in rules)
    assert allowed(f"User-agent: *\n{text}", f"/{path}") == max(found, default=(0, True))[1]
