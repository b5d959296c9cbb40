"""What holds for every URL, link, key and limit."""

import re
import string

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.url.odd_links import BASES, HREFS, url
from whimbrel.simweb.spec import WebSpec
from whimbrel.simweb.truth import Truth, TruthLimits, TruthOptions, too_repetitive
from whimbrel.simweb.web import Web
from whimbrel.url import FilterRules, Filters, Joiner, Keys, Limits, Url, parse, query_group, resolve, restore
from whimbrel.url.glob import Globs
from whimbrel.url.join import Joined
from whimbrel.url.surt import surt

WEB = Web(WebSpec())
TOKENS = (
    *("http:", "https:", "HTTP:", "ftp:", "//", "/", "\\", ".", "..", "/./", "/../", "%2e", "%2E", "%", "%20", "%25"),
    *("?", "#", "&", "=", "@", ":", ":80", ":443", ":8080", "'", '"', "^", "`", "{", "|", "<", "[", "]", "[::1]", ";"),
    *(" ", "\t", "\n", "\r", "\x00", "\x7f", "ü", "\u00ad", "．", "😀", "xn--", "xn--bcher-kva", "0x7f", "1", "1.2"),
    *("a", "b.c", "A", "www.", "example.com", "example.com.", "_", "-", "*", "~", "+", "!", "$", "(", ","),
)
links = st.one_of(
    st.lists(st.sampled_from(TOKENS), max_size=9).map("".join),
    st.builds("".join, st.tuples(st.sampled_from(HREFS), st.sampled_from(TOKENS), st.sampled_from(HREFS))),
    st.text(alphabet=string.printable + "äé%/?#\\", max_size=40),
    st.text(max_size=20),
)
bases = st.sampled_from(BASES)
urls = st.builds(resolve, bases, links).filter(lambda found: found is not None)
segments = st.lists(st.sampled_from(("a", "b", "ab", "", "c")), max_size=30)


@settings(max_examples=3000)
@given(bases, links)
def test_a_joiner_equals_the_standard_for_every_link(base: Url, href: str) -> None:
    expected = resolve(base, href)
    assert Joiner(base).join(href) == (None if expected is None else expected.text)


SITE = [page for text in ("", "a", "a/b?c=d", "a/e/?f", "g;h?") if (page := resolve(BASES[0], f"/{text}")) is not None]
JOINED = Joined(most_bytes=60_000)


@settings(max_examples=3000)
@given(st.sampled_from(SITE), links)
def test_links_remembered_from_other_pages_mean_the_same_on_this_one(page: Url, href: str) -> None:
    expected = resolve(page, href)
    assert Joiner(page, JOINED).join(href) == (None if expected is None else expected.text)


@given(st.lists(links, max_size=5))
def test_a_link_seen_on_one_page_means_on_another_what_the_standard_says(hrefs: list[str]) -> None:
    joined = Joined()
    for page in SITE:
        for href in hrefs:
            expected = resolve(page, href)
            assert Joiner(page, joined).join(href) == (None if expected is None else expected.text)


@settings(max_examples=500)
@given(urls)
def test_parsing_is_idempotent_and_parts_can_be_restored(found: Url) -> None:
    assert parse(found.text) == found == restore(found.text)
    assert found.text.isascii()
    assert found.text in {
        f"{found.scheme}://{found.host}{found.target}",
        f"{found.scheme}://{found.host}:{found.port}{found.target}",
    }


@settings(max_examples=500)
@given(urls, urls)
def test_urls_share_a_key_only_when_every_byte_is_equal(one: Url, other: Url) -> None:
    keys = Keys(bytes(16))
    assert (keys.url(one.text) == keys.url(other.text)) == (one.text == other.text)


@given(st.text(alphabet=string.ascii_letters + string.digits + "/%-_.~&=?", max_size=40))
def test_the_case_of_a_path_and_query_is_kept(target: str) -> None:
    assume("/." not in "/" + target)
    assume("%2e" not in target.lower())
    assert url("http://example.com/" + target).target == "/" + target


@settings(max_examples=500)
@given(segments, st.integers(1, 4))
def test_repeating_segments_are_those_of_the_simulated_web(path: list[str], most: int) -> None:
    found = url("http://a.test/" + "/".join(path))
    cut = Limits(length=None, segments=None, hops=None, repeats=most).cut(found, 0)
    assert (cut == "repeating-segments") == too_repetitive([part for part in path if part], most)


@settings(max_examples=500)
@given(st.one_of(urls, segments.map(lambda path: url("http://a.test/" + "/".join(path)))), st.integers(0, 6), st.data())
def test_limits_are_those_of_the_simulated_web(found: Url, depth: int, data: st.DataObject) -> None:
    chosen = {
        name: data.draw(st.one_of(st.none(), st.integers(1, most)))
        for name, most in (("length", 90), ("segments", 12), ("repeats", 3), ("hops", 6))
    }
    truth = Truth(WEB, [], TruthOptions(limits=TruthLimits(**chosen, queries=None)))
    assert Limits(**chosen).cut(found, depth) == truth._cut(found.text, found.target, depth)


@settings(max_examples=300)
@given(
    st.lists(st.sampled_from(("a", "b", "a=1", "b=2", "", "=")), min_size=1),
    st.lists(st.sampled_from(("a", "b=3", "")), min_size=1),
)
def test_query_groups_are_those_of_the_simulated_web(one: list[str], other: list[str]) -> None:
    first, second = (url("http://a.test/x?" + "&".join(query)) for query in (one, other))
    truth = Truth(WEB, [], TruthOptions(limits=TruthLimits(queries=1)))
    cuts = [truth._cut(found.text, found.target, 0) for found in (first, second)]
    groups = [query_group(found) for found in (first, second)]
    assert (cuts[1] == "too-many-queries") == (groups[0] == groups[1] is not None)


@settings(max_examples=500)
@given(st.text(alphabet="ab*", max_size=8), st.text(alphabet="ab", max_size=12))
def test_a_glob_is_what_its_regular_expression_is(glob: str, text: str) -> None:
    expected = re.fullmatch(re.escape(glob).replace(r"\*", ".*"), text) is not None
    assert Globs([glob]).match(text) is expected


@given(st.text(max_size=30), st.text(max_size=30))
def test_filters_answer_every_url_and_fail_closed(host: str, target: str) -> None:
    """Also for what no parser would make."""
    found = Url(f"http://{host}{target}", "http", host, 80, target)
    rules = FilterRules(
        blocked_domains=("a.test",), blocked_hosts=("b.test",), include=("*a*b*", "http://*"), exclude=("*x",)
    )
    reason = Filters(rules).refusal(found)
    assert reason in {"", "blocked-host", "blocked-domain", "excluded", "not-included", "filter-error"}
    broken = Url(None, "http", host, 80, target)  # type: ignore[arg-type]
    assert Filters(rules).refusal(broken) != ""


@settings(max_examples=1000)
@given(urls)
def test_surt_is_that_of_cdxj_indexer(found: Url) -> None:
    library = pytest.importorskip("surt")
    # By the standard `1..` is a name; without its dots it would be a number. No DNS has such a name.
    assume(re.fullmatch(r"[.0-9]+\.", found.host) is None)
    assert surt(found.text) == library.surt(found.text)
