"""What a crawl's job says about a link: followed, or refused by which rule."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

from whimbrel.flow import Plan, check
from whimbrel.handle.message import FILTER, FILTER_ERROR
from whimbrel.handle.rule import Filter
from whimbrel.job.crawl_wiring import configured
from whimbrel.job.handling import rules_of
from whimbrel.job.options import CrawlOptions
from whimbrel.job.part_name import FRONTIER, ROUTER, planned
from whimbrel.job.parts import registry
from whimbrel.job.stored import stored_job
from whimbrel.parse.api import PageLink
from whimbrel.route.link_rule import REQUISITES, page_refusal
from whimbrel.route.router import Router, RouterConfig
from whimbrel.url import Url, parse, query_group
from whimbrel.url.block_list import BlockList
from whimbrel.url.filter import FilterRules, Filters

_SETTINGS: Final = {
    "too-long": (ROUTER, "max_length", "router.max_length"),
    "too-many-segments": (ROUTER, "max_segments", "router.max_segments"),
    "repeating-segments": (ROUTER, "max_repeats", "router.max_repeats"),
    "too-many-hops": (ROUTER, "max_depth", "max_depth"),
    "too-many-queries": (FRONTIER, "max_queries", "frontier.max_queries"),
}
"""The limit behind each reason of a URL that was dropped: the part, its setting, and what users call it."""


class Refusal(msgspec.Struct, frozen=True):
    """Why a link is not followed. An empty reason: it is followed."""

    reason: str = ""
    """A word of docs/outcomes.md."""
    rule: str = ""
    """What decided: a pattern, a limit with its value, a kind of link, a name."""
    detail: str = ""
    """The same in a clause."""

    def __bool__(self) -> bool:
        return bool(self.reason)


class LinkJudge:
    """Asks the job's own router, as the crawl does."""

    def __init__(self, directory: Path, leads: Iterable[str] = ()) -> None:
        """`leads` are the URLs out of scope that seeds have redirected to. Raises WhimbrelError or ValueError if the
        job, or a file that it names, cannot be used."""
        self.options: CrawlOptions = stored_job(directory).options
        known = registry(*map(Path, self.options.with_files))
        self._plan: Plan = check(configured(self.options, directory, known), known)
        kind, config = planned(self._plan, ROUTER)
        if kind is None or not issubclass(kind, Router) or not isinstance(config, RouterConfig):
            raise ValueError(f"{directory}: the wiring has no {ROUTER} that can be asked about links")
        self._router = kind(config)
        self._config = config
        self._seeds = frozenset(seed.text for seed in self._router.seeds)
        self._block = [(name, BlockList([name])) for name in self._config.block]
        self._patterns = list(_patterns(self._config))
        self._filters: list[Filter] = rules_of(known).filters
        for url in map(parse, leads):
            if url is not None:
                self._router.extend(url)

    @property
    def seeds(self) -> tuple[Url, ...]:
        return self._router.seeds

    def is_seed(self, url: Url) -> bool:
        return url.text in self._seeds

    def setting(self, part: str, key: str, default: Any = None) -> Any:
        """What a part of the crawl is configured with; `default` where the wiring has no such part or setting."""
        config = {**self._plan.providers, **self._plan.components}.get(part, (None, None))[1]
        return getattr(config, key, default)

    def blocking(self, url: Url) -> str:
        """The name in `block` that the host of a URL is blocked by; empty when it is not."""
        return next((name for name, names in self._block if names.holds(url)), "")

    def blocking_pattern(self, url: Url) -> str:
        """The pattern in `block` that refuses a URL; empty when none does."""
        return next((one.rule for one in self._excluding(url) if one.rule in self._config.refuse), "")

    def judge(self, url: Url, link: PageLink, source: Url, depth: int, robots: tuple[str, ...] = ()) -> Refusal:
        """Of a link on a page `source`, which is `depth` hops from a seed and has these robots directives."""
        filtered = Refusal() if page_refusal(robots) else self._filtered(url)
        reason = self._router.judge(link, source, depth, robots, filtered.reason)
        if reason and reason == filtered.reason:
            return filtered
        return self._refusal(url, reason, link, page_says=bool(page_refusal(robots)))

    def judge_redirect(self, url: Url, depth: int = 0) -> Refusal:
        return self._refusal(url, self._router.judge_redirect(url, depth), PageLink(url.text))

    def limit(self, url: Url, reason: str) -> Refusal:
        """The limit behind the reason of a URL that was dropped; none when it is no such reason."""
        if reason not in _SETTINGS:
            return Refusal()
        part, key, name = _SETTINGS[reason]
        rule = f"{name} = {self.setting(part, key)}"
        group = query_group(url) if reason == "too-many-queries" else None
        among = "" if group is None else f", counted for all URLs like {group}"
        return Refusal(reason, rule, f"it is beyond the limit {rule}{among}")

    def _filtered(self, url: Url) -> Refusal:
        for wants in self._filters:
            name = getattr(wants, "__name__", repr(wants))
            try:
                if not wants(url.text):
                    return Refusal(FILTER, name, f"your filter {name} refuses it")
            except Exception as error:  # noqa: BLE001 - it is the user's code
                told = f"{type(error).__name__}: {error}"
                detail = f"your filter {name} fails ({told}), and a filter that fails refuses"
                return Refusal(FILTER_ERROR, name, detail)
        return Refusal()

    def _refusal(self, url: Url, reason: str, link: PageLink, *, page_says: bool = False) -> Refusal:
        config = self._config
        match reason:
            case "":
                return Refusal()
            case "not-followed":
                return Refusal(reason, link.kind, of_kind(link.kind, config.follow))
            case "nofollow":
                return Refusal(reason, reason, "its page says nofollow" if page_says else "the link says nofollow")
            case "out-of-scope":
                seeds = ", ".join(seed.text for seed in self.seeds[:3]) + (", …" if len(self.seeds) > 3 else "")
                return Refusal(
                    reason, f"scope = {config.scope}", f"it is outside the scope `{config.scope}` of {seeds}"
                )
            case "excluded":
                return next(self._excluding(url), Refusal(reason, "", "a pattern excludes it"))
            case "not-included":
                patterns = ", ".join((*config.include, *config.include_patterns))
                return Refusal(reason, patterns, f"it matches no pattern of `include`: {patterns}")
            case "blocked-domain" | "blocked-host":
                name = self.blocking(url)
                return Refusal(reason, name, f"its host is blocked by {name!r}")
            case _:
                return self.limit(url, reason) or Refusal(reason)

    def _excluding(self, url: Url) -> Iterator[Refusal]:
        """The patterns that refuse a URL."""
        for option, pattern, filters in self._patterns:
            if filters.refusal(url):
                yield Refusal("excluded", pattern, f"the pattern {pattern!r} of `{option}` matches it")


def _patterns(config: RouterConfig) -> Iterator[tuple[str, str, Filters]]:
    """Each pattern that excludes URLs, with the option that it is of."""
    for option, globs in (("exclude", config.exclude), ("block", config.refuse)):
        yield from ((option, glob, Filters(FilterRules(exclude=(glob,)))) for glob in globs)
    for pattern in config.exclude_patterns:
        yield "router.exclude_patterns", pattern, Filters(FilterRules(exclude_patterns=(pattern,)))


def of_kind(kind: str, follow: str = "links") -> str:
    """Why links of a kind are not followed, in a clause."""
    if follow == "handlers":
        return f"links of kind `{kind}` are not followed, only those that handlers make (`follow = handlers`)"
    if kind in REQUISITES:
        return f"links of kind `{kind}` are followed only with --requisites"
    return f"links of kind `{kind}` are not followed"
