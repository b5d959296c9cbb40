"""Filters: which URLs a crawl is told not to visit, whatever its scope."""

import importlib
from collections.abc import Callable, Sequence

import msgspec

from whimbrel.url.block_list import BlockList, host_name
from whimbrel.url.glob import Globs
from whimbrel.url.value import Url


class FilterRules(msgspec.Struct, frozen=True, kw_only=True):
    """What the user asks for. With neither `include` nor `include_patterns`, everything is included."""

    schemes: tuple[str, ...] = ("http", "https")
    blocked_hosts: tuple[str, ...] = ()
    """These hosts and no others."""
    blocked_domains: tuple[str, ...] = ()
    """These names and every host under them; or a host at one port, or one site (`block_list.py`)."""
    include: tuple[str, ...] = ()
    """Globs over the whole URL; `*` matches anything."""
    exclude: tuple[str, ...] = ()
    include_patterns: tuple[str, ...] = ()
    """Regular expressions that match somewhere in the URL, in RE2's syntax: it needs time linear in the URL."""
    exclude_patterns: tuple[str, ...] = ()


class Filters:
    """FilterRules made ready. It has no state: to change a rule while running, put another one in its place."""

    def __init__(self, rules: FilterRules) -> None:
        self._schemes = frozenset(rules.schemes)
        self._hosts = frozenset(host_name(name) for name in rules.blocked_hosts)
        self._domains = BlockList(rules.blocked_domains)
        self._include = _matchers(rules.include, rules.include_patterns)
        self._exclude = _matchers(rules.exclude, rules.exclude_patterns)

    def refusal(self, url: Url) -> str:
        """Why a URL is not to be visited, empty when it may: `scheme`, `blocked-host`, `blocked-domain`, `excluded`,
        `not-included`, or `filter-error`: a filter that fails refuses."""
        try:
            return self._refusal(url)
        except Exception:  # noqa: BLE001 - fail closed, whatever it was
            return "filter-error"

    def _refusal(self, url: Url) -> str:
        if url.scheme not in self._schemes:
            return "scheme"
        # A dot at the end of a name is another spelling of the same host, not a way round the list.
        host = url.host.removesuffix(".")
        if host in self._hosts:
            return "blocked-host"
        if self._domains and self._domains.holds(url):
            return "blocked-domain"
        for match in self._exclude:
            if match(url.text):
                return "excluded"
        for match in self._include:
            if match(url.text):
                return ""
        return "not-included" if self._include else ""


Matcher = Callable[[str], object]


def _matchers(globs: Sequence[str], patterns: Sequence[str]) -> tuple[Matcher, ...]:
    matchers: list[Matcher] = []
    if globs:
        matchers.append(Globs(globs).match)
    if patterns:
        matchers.append(_compiled(patterns))
    return tuple(matchers)


def _compiled(patterns: Sequence[str]) -> Matcher:
    """All in one automaton: the time does not depend on how many they are."""
    try:
        re2 = importlib.import_module("re2")  # An extra, and only for those who use patterns.
    except ImportError as error:
        # Python's own `re` may take time exponential in the URL: one link could stop the crawl.
        raise ValueError(
            "filters with regular expressions need google-re2: pip install 'whimbrel[regex]'; or use globs"
        ) from error
    options = re2.Options()
    options.log_errors = False
    for pattern in patterns:
        try:
            re2.compile(pattern, options)
        except re2.error as error:
            raise ValueError(f"filter pattern {pattern!r} is not a regular expression of RE2: {error}") from error
    search: Matcher = re2.compile("|".join(f"(?:{pattern})" for pattern in patterns), options).search
    return search
