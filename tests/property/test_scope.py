"""Twins are in or out of a scope together; no scope loses what it held."""

from hypothesis import given
from hypothesis import strategies as st

from tests.url.odd_links import url
from whimbrel.url import Domains, Scope, Url
from whimbrel.url.scope import Kind

DOMAINS = Domains()
kinds = st.sampled_from(("page", "prefix", "host", "domain", "any"))
paths = st.lists(st.sampled_from(("a", "b", "")), max_size=4).map("/".join)
places = st.tuples(
    st.sampled_from(("a.test", "x.a.test", "b.test", "10.0.0.1")), st.sampled_from(("", ":8080", ":8443")), paths
)
urls = places.map(lambda place: url("http://{}{}/{}".format(*place)))
seeds = st.lists(urls, max_size=4)


@given(st.sampled_from(("prefix", "host", "domain")), seeds, places)
def test_twins_are_held_together(kind: Kind, seeds: list[Url], place: tuple[str, str, str]) -> None:
    scope = Scope.of(kind, seeds, DOMAINS)
    host, port, path = place
    hosts = [host] if host[0].isdigit() else [host, "www." + host]
    twins = [url(f"{scheme}://{name}{port}/{path}") for scheme in ("http", "https") for name in hosts]
    assert len({scope.holds(twin) for twin in twins}) == 1


@given(kinds, seeds)
def test_every_seed_is_held(kind: Kind, seeds: list[Url]) -> None:
    scope = Scope.of(kind, seeds, DOMAINS)
    assert all(scope.holds(seed) for seed in seeds)


@given(kinds, seeds, urls, urls)
def test_an_extended_scope_holds_the_target_and_all_it_held(
    kind: Kind, seeds: list[Url], target: Url, other: Url
) -> None:
    scope = Scope.of(kind, seeds, DOMAINS)
    extended = scope.extended(target)
    assert extended.holds(target)
    assert extended.holds(other) >= scope.holds(other)
    assert extended == Scope.of(kind, [*seeds, target], DOMAINS)


@given(seeds, urls)
def test_a_wider_kind_holds_more(seeds: list[Url], found: Url) -> None:
    held = [Scope.of(kind, seeds, DOMAINS).holds(found) for kind in ("page", "prefix", "host", "domain", "any")]
    assert held == sorted(held)
