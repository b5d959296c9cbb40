"""Filters: which URLs a crawl is told not to visit, whatever its scope."""

import importlib
from collections.abc import Callable, Iterable, Sequence

import msgspec

from whimbrel.url.glob import Globs
from whimbrel.url.value import Url, parse


class FilterRules(msgspec.Struct, frozen=True, kw_only=True):
    """What the user asks for. With neither `include` nor `include_patterns`, everything is included."""

    schemes: tuple[str, ...] = ("http", "https")
    blocked_hosts: tuple[str, ...] = ()
    """These hosts and no others."""
    blocked_domains: tuple[str, ...] = ()
    """These names and every host under them."""
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
        self._hosts = frozenset(_host(name) for name in rules.blocked_hosts)
        self._domains = HostNames(rules.blocked_domains)
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
        if self._domains and self._domains.hold(host):
            return "blocked-domain"
        for match in self._exclude:
            if match(url.text):
                return "excluded"
        for match in self._include:
            if match(url.text):
                return ""
        return "not-included" if self._include else ""


class HostNames:
    """Names of hosts and domains; it holds a host when it has its name, or one that it is under."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = frozenset(_host(name) for name in names)

    def __bool__(self) -> bool:
        return bool(self._names)

    def hold(self, host: str) -> bool:
        host = host.removesuffix(".")
        at = -1
        while True:
            if host[at + 1 :] in self._names:
                return True
            at = host.find(".", at + 1)
            if at < 0:
                return False


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
            "filters with regular expressions need the extra `regex` (google-re2); or use globs"
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


def _host(name: str) -> str:
    """As URLs spell it. The port is there so that no other one can be."""
    url = parse(f"http://{name}:1/")
    if url is None or url.text != f"http://{url.host}:1/" or "@" in name:
        raise ValueError(f"cannot block {name!r}: it is not the name or address of a host")
    return url.host.removesuffix(".")
