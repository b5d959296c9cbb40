"""Each kind of scope holds what its name says, given the seeds."""

import pytest

from tests.url.odd_links import url
from whimbrel.url import Domains, Scope
from whimbrel.url.scope import Kind

SEED = "http://www.a.example.com/docs/start.html?x"

HELD: dict[Kind, tuple[str, ...]] = {
    "page": (SEED,),
    "prefix": (
        SEED,
        "https://a.example.com/docs/",
        "http://a.example.com/docs/deep/er?y",
        "http://a.example.com:80/docs/x",
    ),
    "host": (SEED, "https://a.example.com/", "http://a.example.com/elsewhere", "https://www.a.example.com:443/"),
    "domain": (SEED, "http://example.com/", "https://b.example.com:8443/"),
    "any": (SEED, "http://other.test/"),
}
REFUSED: dict[Kind, tuple[str, ...]] = {
    "page": ("https://www.a.example.com/docs/start.html?x", "http://www.a.example.com/docs/start.html"),
    "prefix": (
        "http://a.example.com/",
        "http://a.example.com/docs",
        "http://a.example.com/docsx/",
        "http://a.example.com/Docs/",
        "http://a.example.com/x?y=/docs/",
        "http://a.example.com:8080/docs/",
        "http://b.example.com/docs/",
    ),
    "host": (
        "http://example.com/",
        "http://b.example.com/",
        "http://www.www.a.example.com/",
        "http://a.example.com:8080/",
        "http://a.example.com:443/",
        "http://wwwa.example.com/",
    ),
    "domain": ("http://example.org/", "http://notexample.com/"),
    "any": (),
}


@pytest.mark.parametrize("kind", HELD)
def test_a_scope_holds_what_its_kind_says(kind: Kind) -> None:
    scope = Scope.of(kind, [url(SEED)], Domains())
    assert [text for text in HELD[kind] if not scope.holds(url(text))] == []
    assert [text for text in REFUSED[kind] if scope.holds(url(text))] == []


@pytest.mark.parametrize("kind", ["page", "prefix", "host", "domain"])
def test_a_redirecting_seed_extends_the_scope_to_its_target(kind: Kind) -> None:
    scope = Scope.of(kind, [url(SEED)], Domains())
    target = url("https://new.example.org/docs/start")
    extended = scope.extended(target)
    assert not scope.holds(target)
    assert extended.holds(target)
    assert extended.holds(url(SEED))
    assert extended.extended(target) is extended


def test_hosts_at_another_port_are_equal_only_with_the_same_port() -> None:
    scope = Scope.of("host", [url("http://a.test:8080/")], Domains())
    assert scope.holds(url("https://www.a.test:8080/x"))
    assert not scope.holds(url("http://a.test/"))
    assert not scope.holds(url("http://a.test:8081/"))


def test_a_scope_without_seeds_holds_nothing_unless_it_is_any() -> None:
    assert not Scope.of("host", [], Domains()).holds(url(SEED))
    assert Scope.of("any", [], Domains()).holds(url(SEED))


def test_equal_seeds_make_equal_scopes() -> None:
    domains = Domains()
    one, other = (Scope.of("host", [url(text)], domains) for text in (SEED, "https://a.example.com/"))
    assert one == other
