"""Which links are followed: kind, directives, scope, filters and limits, each a function of the link and its page."""

from collections import Counter
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, Literal

import msgspec

from whimbrel.cache import ByteCache
from whimbrel.flow import Config, Provider
from whimbrel.parse.api import PageLink, ParsedPage
from whimbrel.route.link_rule import LINK_REFUSALS, REQUISITES, LinkRule, page_refusal
from whimbrel.url import Url, parse, restore
from whimbrel.url.domain import Domains
from whimbrel.url.filter import FilterRules, Filters
from whimbrel.url.limit import Limits
from whimbrel.url.scope import Scope
from whimbrel.url.userinfo import redacted_url
from whimbrel.visit import Discovered, HostName, Request, Visit

_NO_REFUSALS: Final[Mapping[str, str]] = MappingProxyType({})


class RouterConfig(Config, frozen=True):
    seeds: tuple[str, ...] = ()
    """URLs to begin with."""
    scope: Literal["page", "prefix", "host", "domain", "any"] = "host"
    """How far from the seeds: `host` takes http, https and www twins for one."""
    include: tuple[str, ...] = ()
    """Patterns with `*`; when there are any, a URL must match one."""
    exclude: tuple[str, ...] = ()
    """Patterns with `*`; a URL that matches one is not visited."""
    include_patterns: tuple[str, ...] = ()
    """Regular expressions in RE2's syntax, which need the extra `regex`."""
    exclude_patterns: tuple[str, ...] = ()
    """Likewise; a URL in which one matches is not visited."""
    block: tuple[str, ...] = ()
    """Hosts, domains and sites that are never visited."""
    refuse: tuple[str, ...] = ()
    """Patterns with `*` of URLs that are never visited; from `block`."""
    requisites: bool = False
    """Also what pages need to be shown: images, styles, scripts, one hop out of scope."""
    follow: Literal["links", "handlers"] = "links"
    """What is followed: the links of pages and those that handlers make, or the latter alone."""
    nofollow_links: bool = True
    """Follow links marked rel=nofollow; pages that say nofollow as a whole are always obeyed."""
    sitemaps: bool = False
    """Look for /sitemap.xml on every host, not only where robots.txt names sitemaps."""
    ascend: bool = False
    """Each URL also proposes its parents."""
    max_depth: int | None = 20
    """Hops from a seed."""
    max_length: int | None = 2048
    """Characters of a URL."""
    max_segments: int | None = 20
    """Of a path; empty ones do not count."""
    max_repeats: int | None = 2
    """How often a run of path segments may stand in a row."""
    cache_bytes: int = 24_000_000
    """Of memory, for decisions on links: about 80,000 of them."""


class Dropped(msgspec.Struct, frozen=True, gc=False):
    """A link that a limit cut."""

    url: Url
    reason: str


class Route(msgspec.Struct, frozen=True, gc=False):
    """What becomes of the links of one page."""

    found: tuple[Discovered, ...] = ()
    dropped: tuple[Dropped, ...] = ()
    refused: Mapping[str, int] = {}
    """Links that are not followed, counted by reason."""
    target: str = ""
    """Where a redirect leads."""
    followed: tuple[str, ...] = ()
    """Links that count as seen from the moment at which this is settled."""


class _Draft:
    """A route while it is made."""

    __slots__ = ("dropped", "first", "followed", "found")

    def __init__(self, first: frozenset[str] = frozenset()) -> None:
        self.found: list[Discovered] = []
        self.dropped: list[Dropped] = []
        self.followed: dict[str, None] = {}
        self.first = first
        """Links that go before the others of their hosts."""

    def finish(self, refused: Mapping[str, int] | None = None, target: str = "") -> Route:
        return Route(tuple(self.found), tuple(self.dropped), refused or {}, target, tuple(self.followed))


class Router(Provider):
    """Decides once per URL and remembers it for a while: most links of a site lead where others led before."""

    Config = RouterConfig
    live = frozenset(RouterConfig.__struct_fields__)

    def __init__(self, config: RouterConfig) -> None:
        super().__init__(config)
        self._domains = Domains()
        self._leads: list[Url] = []
        self._prepare(config)

    def _prepare(self, config: RouterConfig) -> None:
        self.seeds = tuple(map(_seed, config.seeds))
        self._scope = Scope.of(config.scope, self.seeds, self._domains)
        self._rule = LinkRule(config.follow, requisites=config.requisites, nofollow_links=config.nofollow_links)
        self._filters = Filters(
            FilterRules(
                include=config.include,
                exclude=(*config.exclude, *config.refuse),
                include_patterns=config.include_patterns,
                exclude_patterns=config.exclude_patterns,
                blocked_domains=config.block,
            )
        )
        self._limits = Limits(
            length=config.max_length, segments=config.max_segments, repeats=config.max_repeats, hops=config.max_depth
        )
        self._decisions: ByteCache[str, str] = ByteCache(config.cache_bytes, _size)
        """Why a link is not followed."""

    def reconfigure(self, config: RouterConfig) -> None:
        """Links that are found from now on are judged anew. ValueError for a seed or a filter that cannot be used:
        nothing has changed then."""
        before = self.config
        try:
            self._prepare(config)
        except ValueError:
            self._prepare(before)
            raise
        self.config = config
        for url in self._leads:
            self._scope = self._scope.extended(url)

    def begin(self, seeds: tuple[Url, ...] | None = None) -> Route:
        """The seeds themselves: whatever scope, filters and limits say."""
        found: list[Discovered] = []
        for url in self.seeds if seeds is None else seeds:
            found.append(Discovered(url, 0))
            if self.config.ascend:
                above = (parent for parent in parents(url) if self._scope.holds(parent))
                found.extend(Discovered(parent, 0, url.text) for parent in above)
        return Route(tuple(found))

    def extend(self, url: Url) -> None:
        """A seed redirects here: its scope goes along."""
        self._leads.append(url)
        self._scope = self._scope.extended(url)
        self._decisions.clear()

    def route(
        self,
        visit: Visit,
        page: ParsedPage,
        refusals: Mapping[str, str] = _NO_REFUSALS,
        first: frozenset[str] = frozenset(),
    ) -> Route:
        """The links of a page, in its order. `refusals` are those that the user's own filters refuse, with the reason;
        `first` are those that go before the others of their hosts."""
        links = page.links
        if refused := page_refusal(page.robots):
            return Route(refused={refused: len(links)})
        draft = _Draft(first)
        near = self.config.requisites and self._scope.holds(visit.url)
        reasons = list(map(self._decisions.young.get, links.targets))
        if refusals:
            reasons = list(map(refusals.get, links.targets, reasons))
        if None in reasons:
            for at, reason in enumerate(reasons):
                if reason is None:
                    reasons[at] = self._route_one(links[at], visit, draft, near=near)
        # There are one or two different ones: cheaper than a Counter.
        return draft.finish({reason: reasons.count(reason) for reason in set(reasons) if reason})

    def _route_one(self, link: PageLink, visit: Visit, draft: _Draft, *, near: bool) -> str:
        if link.target in draft.followed:
            return "seen"
        known = self._decisions.get(link.target)  # It may have stood further up on the page.
        return self._decide(link, visit.url.text, visit.depth + 1, draft, near=near) if known is None else known

    def judge(self, link: PageLink, source: Url, depth: int, robots: tuple[str, ...] = (), filtered: str = "") -> str:
        """Why a link is not followed, whatever was decided before; empty when it is. Its page is at `source`, `depth`
        hops from a seed, and has these robots directives; `filtered` is why the user's own filters refuse it."""
        url = restore(link.target)
        near = self.config.requisites and self._scope.holds(source)
        refused = page_refusal(robots) or filtered or self._link_refusal(link, url, near=near)
        return refused or self._limits.cut(url, depth + 1)

    def judge_redirect(self, url: Url, depth: int) -> str:
        """Why the target of a redirect is not followed, as `redirect` decides; empty when it is."""
        return self._refusal(url, requisite=False) or self._limits.cut(url, depth)

    def redirect(self, visit: Visit, target: str) -> Route:
        """The target of a redirect: at the same depth, one redirect further."""
        draft, refused = _Draft(), ""
        url = parse(target)
        if url is not None:
            refused = self._refusal(url, requisite=False)
            if not refused:
                self._admit(Discovered(url, visit.depth, visit.url.text, visit.redirects + 1), draft)
        return draft.finish({refused: 1} if refused else {}, target)

    def propose(self, texts: tuple[str, ...], source: str, depth: int) -> Route:
        """URLs that come from elsewhere than a page: sitemaps that robots.txt names."""
        draft = _Draft()
        urls = (url for url in map(parse, texts) if url is not None)
        refused = Counter(
            self._decide(PageLink(url.text, kind="sitemap"), source, depth, draft, near=False) for url in urls
        )
        return draft.finish({reason: count for reason, count in refused.items() if reason})

    def remember(self, route: Route) -> None:
        """A route is settled: what it follows is known from now on."""
        for text in route.followed:
            self._decisions.put(text, "seen")

    def sitemaps(self, host: HostName, named: tuple[str, ...]) -> tuple[str, ...]:
        """The sitemaps of a host: those that robots.txt names and, if asked for, the one at the usual place."""
        usual = f"{host.origin}/sitemap.xml"
        return (*named, usual) if self.config.sitemaps and usual not in named else named

    def _decide(self, link: PageLink, source: str, depth: int, draft: _Draft, *, near: bool) -> str:
        """Why a link is not followed; empty when it is. `near`: what its page needs to be shown may be out of scope,
        since the page is not."""
        known = self._decisions.get(link.target)
        if known is not None:
            return known
        url = restore(link.target)
        reason = self._link_refusal(link, url, near=near)
        if reason:
            if self._holds_for_all(reason):
                self._decisions.put(link.target, reason)
            return reason
        draft.followed[link.target] = None
        request = Request(url, purpose="requisite") if link.kind in REQUISITES else None
        self._admit(Discovered(url, depth, source, 0, url.text in draft.first, request), draft)
        return ""

    def _link_refusal(self, link: PageLink, url: Url, *, near: bool) -> str:
        """Why a link is not followed whatever its page says as a whole: by its kind and rel, then by where it leads."""
        return self._rule.refusal(link) or self._refusal(url, requisite=near and link.kind in REQUISITES)

    def _holds_for_all(self, reason: str) -> bool:
        """Whether every link to the same URL is refused for this reason, so that it can be remembered. What is out of
        scope for a link may not be so for a requisite."""
        return reason not in LINK_REFUSALS and (reason != "out-of-scope" or not self.config.requisites)

    def _refusal(self, url: Url, *, requisite: bool) -> str:
        reason = self._filters.refusal(url)
        if reason:
            return reason
        return "" if requisite or self._scope.holds(url) else "out-of-scope"

    def _admit(self, found: Discovered, draft: _Draft) -> None:
        url, depth = found.url, found.depth
        cut = self._limits.cut(url, depth)
        if cut:
            draft.dropped.append(Dropped(url, cut))
            return
        draft.found.append(found)
        if self.config.ascend:
            above = (parent for parent in parents(url) if not self._refusal(parent, requisite=False))
            draft.found.extend(Discovered(parent, depth, found.source) for parent in above)


def _size(text: str, _: str) -> int:
    return len(text)


def _seed(text: str) -> Url:
    url = parse(text)
    if url is None:
        raise ValueError(f"the seed {redacted_url(text)!r} is not an http or https URL")
    return url


def parents(url: Url) -> list[Url]:
    """The folders above a URL, the nearest first: /a/b/c has /a/b/, /a/ and /."""
    where, mark, _ = url.target.partition("?")
    segments = where.split("/")[1:]
    if not segments[-1] and not mark:
        segments.pop()
    paths = ("/" + "".join(f"{part}/" for part in segments[:at]) for at in range(len(segments) - 1, -1, -1))
    return [restore(url.origin + path) for path in paths]
