"""Which links are followed, and what becomes of the others."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.frontier.rig import url_of
from whimbrel.parse.api import Links, PageLink, ParsedPage
from whimbrel.route.link_rule import REQUISITES
from whimbrel.route.router import Dropped, Route, Router, RouterConfig, parents
from whimbrel.url import restore
from whimbrel.visit import HostName, Request, Visit

SEED = "http://www.a.example/docs/index.html"


def router(**config: Any) -> Router:
    return Router(RouterConfig(seeds=(SEED,), **config))


def visit(text: str = SEED, depth: int = 0, redirects: int = 0) -> Visit:
    return Visit(Request(url_of(text)), depth, "", redirects, 1, "192.0.2.1", b"")


def routed(one: Router, *links: PageLink, at: Visit | None = None, robots: tuple[str, ...] = ()) -> Route:
    return one.route(at or visit(), ParsedPage(mime="text/html", links=Links.of(links), robots=robots))


def found(route: Route) -> list[str]:
    return [one.url.text for one in route.found]


def test_links_of_followed_kinds_are_found_one_hop_deeper_with_their_source() -> None:
    links = [
        PageLink(f"http://a.example/{kind}", kind=kind) for kind in ("a", "area", "iframe", "link", "refresh", "feed")
    ]
    route = routed(router(), *links, at=visit(depth=3))
    assert found(route) == [link.target for link in links]
    assert {(one.depth, one.source, one.redirects) for one in route.found} == {(4, SEED, 0)}


@pytest.mark.parametrize("kind", ["form", *sorted(REQUISITES)])
def test_other_kinds_are_counted_and_not_followed(kind: str) -> None:
    route = routed(router(), PageLink("http://a.example/x", kind=kind))
    assert found(route) == []
    assert route.refused == {"not-followed": 1}


def test_links_out_of_scope_or_excluded_are_counted_by_reason() -> None:
    one = router(exclude=("*/private/*",), block=("bad.example",), scope="any")
    route = routed(
        one, PageLink("http://b.test/"), PageLink("http://a.example/private/x"), PageLink("http://x.bad.example/")
    )
    assert found(route) == ["http://b.test/"]
    assert sum(route.refused.values()) == 2
    assert routed(router(), PageLink("http://b.test/"), PageLink("http://b.test/")).refused == {"out-of-scope": 2}


def test_a_page_that_says_nofollow_leads_nowhere() -> None:
    route = routed(router(), PageLink("http://a.example/1"), PageLink("http://a.example/2"), robots=("nofollow",))
    assert (found(route), route.refused) == ([], {"nofollow": 2})


def test_a_link_that_says_nofollow_is_followed_unless_asked_not_to() -> None:
    link = PageLink("http://a.example/1", rel="external nofollow")
    assert found(routed(router(), link)) == [link.target]
    one = router(nofollow_links=False)
    assert routed(one, link).refused == {"nofollow": 1}
    assert found(routed(one, PageLink(link.target))) == [link.target], "another link to it says nothing of the kind"


def test_a_link_is_seen_when_the_visit_that_brought_it_is_settled_and_not_before() -> None:
    one = router()
    route = routed(one, PageLink("http://a.example/1"), PageLink("http://a.example/1", kind="area"))
    assert (found(route), route.refused) == (["http://a.example/1"], {"seen": 1}), "once on a page"
    assert found(routed(one, PageLink("http://a.example/1"))) == ["http://a.example/1"], (
        "its visit may never be settled"
    )
    one.remember(route)
    assert routed(one, PageLink("http://a.example/1")).refused == {"seen": 1}


def test_requisites_are_taken_one_hop_out_of_scope_and_no_further() -> None:
    one = router(requisites=True)
    image = PageLink("http://cdn.test/x.png", kind="img")
    assert found(routed(one, image, PageLink("http://cdn.test/page"))) == [image.target]
    sheet = visit("http://cdn.test/style.css", depth=1)
    route = routed(
        one, PageLink("http://cdn.test/font", kind="style"), PageLink("http://a.example/y", kind="img"), at=sheet
    )
    assert found(route) == ["http://a.example/y"], "what is in scope is followed from anywhere"
    assert route.refused == {"out-of-scope": 1}


def test_a_requisite_is_taken_whatever_a_link_to_it_was_told_before() -> None:
    """Results must not depend on which page came first."""
    first, second = PageLink("http://cdn.test/x.png"), PageLink("http://cdn.test/x.png", kind="img")
    one = router(requisites=True)
    assert found(routed(one, first)) == []
    assert found(routed(one, second)) == [second.target]
    assert found(routed(router(requisites=True, exclude=("*.png",)), second)) == []


def test_limits_drop_with_a_reason() -> None:
    one = router(max_depth=2, max_length=60, max_segments=3, max_repeats=2)
    links = ("/a/a/a/", "/1/2/3/4", "/" + "x" * 80, "/fine")
    route = routed(one, *(PageLink(f"http://a.example{path}") for path in links), at=visit(depth=1))
    assert [cut.reason for cut in route.dropped] == [
        "repeating-segments",
        "too-many-segments",
        "too-long",
    ]
    assert found(route) == ["http://a.example/fine"]
    deep = routed(one, PageLink("http://a.example/deep"), at=visit(depth=2))
    assert deep.dropped == (Dropped(restore("http://a.example/deep"), "too-many-hops"),)


def test_a_redirect_leads_on_at_the_same_depth() -> None:
    one = router()
    route = one.redirect(visit(depth=4, redirects=2), "https://a.example/new")
    assert [(d.url.text, d.depth, d.redirects) for d in route.found] == [("https://a.example/new", 4, 3)]
    assert one.redirect(visit(), "http://b.test/").refused == {"out-of-scope": 1}
    assert one.redirect(visit(), "mailto:x").found == ()


def test_the_scope_is_extended_to_where_a_seed_leads_and_old_refusals_are_forgotten() -> None:
    one = router()
    assert routed(one, PageLink("http://b.test/x")).refused == {"out-of-scope": 1}
    one.extend(url_of("http://b.test/start"))
    assert found(routed(one, PageLink("http://b.test/x"))) == ["http://b.test/x"]
    assert found(routed(one, PageLink("http://a.example/new"))) == ["http://a.example/new"]


def test_seeds_are_visited_whatever_scope_filters_and_limits_say() -> None:
    one = router(exclude=("*",), block=("a.example",), max_segments=1)
    assert found(one.begin()) == [SEED]


def test_ascending_proposes_the_folders_above() -> None:
    assert [url.text for url in parents(url_of("http://a.example/x/y/z?q=/1/2"))] == [
        "http://a.example/x/y/",
        "http://a.example/x/",
        "http://a.example/",
    ]
    assert [url.text for url in parents(url_of("http://a.example/x/"))] == ["http://a.example/"]
    assert [url.text for url in parents(url_of("http://a.example/?q"))] == ["http://a.example/"]
    assert parents(url_of("http://a.example/")) == []
    one = router(ascend=True, exclude=("*/secret/",))
    assert found(one.begin()) == [SEED, "http://www.a.example/docs/", "http://www.a.example/"]
    route = routed(one, PageLink("http://a.example/secret/x/y"))
    assert found(route) == ["http://a.example/secret/x/y", "http://a.example/secret/x/", "http://a.example/"]


def test_sitemaps_are_those_that_are_named_and_the_usual_one_if_asked_for() -> None:
    host = HostName("http://a.example:8080", "http", "a.example", 8080, "a.example")
    named = ("http://a.example:8080/map.xml",)
    assert router().sitemaps(host, named) == named
    assert router(sitemaps=True).sitemaps(host, named) == (*named, "http://a.example:8080/sitemap.xml")
    usual = ("https://a.example/sitemap.xml",)
    secure = HostName("https://a.example:443", "https", "a.example", 443, "a.example")
    assert router(sitemaps=True).sitemaps(secure, usual) == usual
    route = router().propose(("http://a.example/map.xml", "http://b.test/map.xml", "nonsense"), "robots", 1)
    assert [(one.url.text, one.depth, one.source) for one in route.found] == [("http://a.example/map.xml", 1, "robots")]


def test_a_seed_that_is_no_web_url_is_an_error_and_changes_nothing() -> None:
    with pytest.raises(ValueError, match="the seed 'mailto:x' is not an http or https URL"):
        Router(RouterConfig(seeds=(SEED, "mailto:x")))
    one = router()
    with pytest.raises(ValueError, match="the seed"):
        one.reconfigure(RouterConfig(seeds=("",)))
    assert found(one.begin()) == [SEED]


KINDS = ("a", "form", "img", "style", "handler", "sitemap")
PLACES = ("http://www.a.example/x", "http://b.test/x", "http://a.example/private/x", "http://a.example/a/a/a/a")


@given(
    kind=st.sampled_from(KINDS),
    target=st.sampled_from(PLACES),
    source=st.sampled_from((SEED, "http://b.test/")),
    depth=st.integers(0, 3),
    rel=st.sampled_from(("", "nofollow")),
    robots=st.sampled_from(((), ("nofollow",))),
    filtered=st.sampled_from(("", "filter")),
    requisites=st.booleans(),
    nofollow_links=st.booleans(),
)
def test_a_judgement_is_what_routing_decides(
    *,
    kind: str,
    target: str,
    source: str,
    depth: int,
    rel: str,
    robots: tuple[str, ...],
    filtered: str,
    requisites: bool,
    nofollow_links: bool,
) -> None:
    one = router(requisites=requisites, nofollow_links=nofollow_links, exclude=("*/private/*",), max_depth=3)
    link = PageLink(target, rel=rel, kind=kind)
    page = ParsedPage(mime="text/html", links=Links.of([link]), robots=robots)
    route = one.route(visit(source, depth), page, {target: filtered} if filtered else {})
    decided = route.dropped[0].reason if route.dropped else next(iter(route.refused), "")
    assert one.judge(link, url_of(source), depth, robots, filtered) == decided
    led = one.redirect(visit(source, depth), target)
    decided = led.dropped[0].reason if led.dropped else next(iter(led.refused), "")
    assert one.judge_redirect(url_of(target), depth) == decided
