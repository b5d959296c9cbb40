"""Filters refuse with a reason, in linear time, and refuse when they fail."""

import sys
import time

import pytest

from tests.url.odd_links import url
from whimbrel.url import FilterRules, Filters, Url
from whimbrel.url.glob import Globs


@pytest.mark.parametrize(
    ("glob", "text", "matches"),
    [
        ("*", "http://a.test/", True),
        ("", "http://a.test/", False),
        ("http://a.test/", "http://a.test/", True),
        ("http://a.test/", "http://a.test/x", False),
        ("http://a.test/*", "http://a.test/", True),
        ("*.jpg", "http://a.test/x.jpg", True),
        ("*.jpg", "http://a.test/x.jpg?y", False),
        ("*/p/*", "http://a.test/p/1", True),
        ("*/p/*", "http://a.test/q/1", False),
        ("*?id=*", "http://a.test/?id=1", True),
        ("*?id=*", "http://a.test/xid=1", False),
        ("http://*.test/*/x*y", "http://a.test/b/xzy", True),
        ("http://*.test/*/x*y", "http://a.test/b/xzyz", False),
        ("*ab*ab", "http://ab", False),
        ("*ab*ab", "http://abab", True),
        ("a*a", "a", False),
        ("a**a", "aa", True),
        ("*[x]*", "http://a.test/[x]", True),
        ("*/ü b*", "http://a.test/%C3%BC%20b", True),
        ("*/%C3%BC*", "http://a.test/%C3%BC", True),
        ("*/X*", "http://a.test/x", False),
    ],
)
def test_a_star_matches_anything_and_all_else_itself(glob: str, text: str, matches: bool) -> None:
    assert Globs([glob]).match(text) is matches
    assert Globs(["nothing", glob, "*no*thing*"]).match(text) is matches


def test_globs_take_linear_time() -> None:
    glob = Globs(["*" + "a*" * 30 + "b"])
    started = time.perf_counter()
    assert not glob.match("a" * 100_000)
    assert time.perf_counter() - started < 1


@pytest.mark.parametrize(
    ("rules", "text", "reason"),
    [
        (FilterRules(), "http://a.test/", ""),
        (FilterRules(schemes=("https",)), "http://a.test/", "scheme"),
        (FilterRules(blocked_hosts=("a.test",)), "http://a.test/", "blocked-host"),
        (FilterRules(blocked_hosts=("a.test",)), "http://a.test./", "blocked-host"),
        (FilterRules(blocked_hosts=("A.Test.",)), "http://a.test/", "blocked-host"),
        (FilterRules(blocked_hosts=("a.test",)), "http://www.a.test/", ""),
        (FilterRules(blocked_hosts=("[::1]",)), "http://[0::1]/", "blocked-host"),
        (FilterRules(blocked_hosts=("10.0.0.1",)), "http://0xa000001/", "blocked-host"),
        (FilterRules(blocked_domains=("a.test",)), "http://a.test/", "blocked-domain"),
        (FilterRules(blocked_domains=("a.test",)), "http://x.y.a.test.:8080/", "blocked-domain"),
        (FilterRules(blocked_domains=("a.test",)), "http://ba.test/", ""),
        (FilterRules(blocked_domains=("bücher.test",)), "http://www.xn--bcher-kva.test/", "blocked-domain"),
        (FilterRules(blocked_domains=("test",)), "http://a.test/", "blocked-domain"),
        (FilterRules(exclude=("*/x/*",)), "http://a.test/x/1", "excluded"),
        (FilterRules(exclude=("*/x/*",)), "http://a.test/y/1", ""),
        (FilterRules(include=("*/x/*", "*/y/*")), "http://a.test/y/1", ""),
        (FilterRules(include=("*/x/*", "*/y/*")), "http://a.test/z/1", "not-included"),
        (FilterRules(include=("*/x/*",), exclude=("*/x/1",)), "http://a.test/x/1", "excluded"),
    ],
)
def test_a_refusal_has_a_reason(rules: FilterRules, text: str, reason: str) -> None:
    assert Filters(rules).refusal(url(text)) == reason


@pytest.mark.parametrize(
    "name", ["", "a b", "http://a.test/x", "a.test/x", "a.test:", "a.test:x", "user@a.test", "http://me@a.test", "?"]
)
def test_what_is_no_host_cannot_be_blocked(name: str) -> None:
    with pytest.raises(ValueError, match="cannot block"):
        Filters(FilterRules(blocked_domains=(name,)))


def test_patterns_match_anywhere() -> None:
    pytest.importorskip("re2")
    rules = FilterRules(exclude_patterns=(r"(?i)/Private/", r"\.(jpg|png)$"), include_patterns=("^http://a",))
    filters = Filters(rules)
    assert filters.refusal(url("http://a.test/private/x")) == "excluded"
    assert filters.refusal(url("http://a.test/x.png")) == "excluded"
    assert filters.refusal(url("http://a.test/x.png?")) == ""
    assert filters.refusal(url("http://b.test/")) == "not-included"


def test_patterns_take_linear_time() -> None:
    pytest.importorskip("re2")
    filters = Filters(FilterRules(exclude_patterns=("(a+)+$",)))
    started = time.perf_counter()
    assert filters.refusal(url("http://a.test/" + "a" * 2000 + "b")) == ""
    assert time.perf_counter() - started < 1


def test_a_pattern_that_cannot_be_linear_is_refused_by_name() -> None:
    pytest.importorskip("re2")
    with pytest.raises(ValueError, match=r"filter pattern '\(a\)\\\\1'"):
        Filters(FilterRules(exclude_patterns=("ok", r"(a)\1")))


def test_patterns_without_re2_are_refused_with_advice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "re2", None)
    with pytest.raises(ValueError, match="google-re2"):
        Filters(FilterRules(include_patterns=("x",)))


def test_a_filter_that_raises_refuses() -> None:
    pytest.importorskip("re2")
    broken = Url("http://a.test/\ud800", "http", "a.test", 80, "/\ud800")
    assert Filters(FilterRules(exclude_patterns=("x",))).refusal(broken) == "filter-error"
