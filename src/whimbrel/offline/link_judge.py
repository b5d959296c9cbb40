"""What a crawl's job says about a link: followed, or refused by which rule."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from whimbrel.flow import check
from whimbrel.handle.judged import FILTER, FILTER_ERROR
from whimbrel.handle.rule import Filter
from whimbrel.job.crawl_wiring import configured, settings_of
from whimbrel.job.handling import rules_of
from whimbrel.job.options import CrawlOptions
from whimbrel.job.part_name import ROUTER
from whimbrel.job.parts import registry
from whimbrel.job.stored import stored_job
from whimbrel.parse.api import Links, PageLink, ParsedPage
from whimbrel.route.link_rule import REQUISITES
from whimbrel.route.router import Route, Router, RouterConfig
from whimbrel.url import Url, restore
from whimbrel.url.filter import FilterRules, Filters, HostNames
from whimbrel.visit import Request, Visit


class Refusal(msgspec.Struct, frozen=True):
    """Why a link is not followed. An empty reason: it is followed."""

    reason: str = ""
    """A word of docs/outcomes.md."""
    detail: str = ""
    """The rule, in a clause."""

    def __bool__(self) -> bool:
        return bool(self.reason)


class LinkJudge:
    """Asks the job's own router, as the crawl does."""

    def __init__(self, directory: Path) -> None:
        """Raises WhimbrelError or ValueError if the job, or a file that it names, cannot be used."""
        self.options: CrawlOptions = stored_job(directory).options
        known = registry(*map(Path, self.options.with_files))
        plan = check(configured(self.options, directory, known), known)
        settings = next(spec.config for spec in plan.wiring.providers if spec.name == ROUTER)
        self._config = msgspec.convert(dict(settings), RouterConfig)
        self._router = Router(self._config)
        self._filters: list[Filter] = rules_of(known).filters
        self.agent: str = settings_of(self.options, directory)["qualifier"]["agent"]
        self.max_pages_per_host: int | None = settings_of(self.options, directory)["frontier"]["max_pages_per_host"]

    @property
    def seeds(self) -> tuple[Url, ...]:
        return self._router.seeds

    def extend(self, texts: Iterable[str]) -> None:
        """Seeds redirect to these URLs: where that leads out of the scope, the scope goes along."""
        for url in map(restore, texts):
            if self.judge_redirect(url, url).reason == "out-of-scope":
                self._router.extend(url)

    def blocking(self, host: str) -> str:
        """The name in `block` that a host is blocked by; empty when it is not."""
        return next((name for name in self._config.block if HostNames([name]).hold(host)), "")

    def blocking_pattern(self, url: Url) -> str:
        """The pattern in `block` that refuses a URL; empty when none does."""
        return next((one for one in self._config.refuse if Filters(FilterRules(exclude=(one,))).refusal(url)), "")

    def judge(self, url: Url, link: PageLink, source: Url, depth: int, robots: tuple[str, ...] = ()) -> Refusal:
        """Of a link on a page `source`, which is `depth` hops from a seed and has these robots directives."""
        filtered = self._filtered(url)
        refusals = {link.target: filtered.reason} if filtered else {}
        visit = Visit(Request(source), depth, "", 0, 1, "", b"")
        page = ParsedPage(mime="text/html", links=Links.of([link]), robots=robots)
        reason = _reason(self._router.route(visit, page, refusals))
        if reason and reason == filtered.reason:
            return filtered
        return Refusal(reason, self._detail(url, reason, link, page_says="nofollow" in robots))

    def judge_redirect(self, url: Url, source: Url) -> Refusal:
        reason = _reason(self._router.redirect(Visit(Request(source), 0, "", 0, 1, "", b""), url.text))
        return Refusal(reason, self._detail(url, reason, PageLink(url.text)))

    def limit(self, reason: str) -> str:
        """The setting behind the reason of a URL that was dropped."""
        config = self._config
        settings: dict[str, tuple[str, object]] = {
            "too-long": ("router.max_length", config.max_length),
            "too-many-segments": ("router.max_segments", config.max_segments),
            "repeating-segments": ("router.max_repeats", config.max_repeats),
            "too-many-hops": ("max_depth", config.max_depth),
        }
        name, value = settings.get(reason, ("", None))
        return f"the limit {name} = {value}" if name else ""

    def _filtered(self, url: Url) -> Refusal:
        for wants in self._filters:
            name = getattr(wants, "__name__", repr(wants))
            try:
                if not wants(url.text):
                    return Refusal(FILTER, f"your filter {name} refuses it")
            except Exception as error:  # noqa: BLE001 - it is the user's code
                told = f"{type(error).__name__}: {error}"
                return Refusal(FILTER_ERROR, f"your filter {name} fails ({told}), and a filter that fails refuses")
        return Refusal()

    def _detail(self, url: Url, reason: str, link: PageLink, *, page_says: bool = False) -> str:
        config = self._config
        match reason:
            case "":
                return ""
            case "not-followed":
                return _of_kind(link.kind, config)
            case "nofollow":
                return "its page says nofollow" if page_says else "the link says nofollow"
            case "out-of-scope":
                seeds = ", ".join(seed.text for seed in self.seeds[:3]) + (", …" if len(self.seeds) > 3 else "")
                return f"it is outside the scope `{config.scope}` of {seeds}"
            case "excluded":
                return next(self._excluding(url), "a pattern excludes it")
            case "not-included":
                patterns = ", ".join((*config.include, *config.include_patterns))
                return f"it matches no pattern of `include`: {patterns}"
            case "blocked-domain" | "blocked-host":
                return f"its host is blocked by {self.blocking(url.host)!r}"
            case _:
                return self.limit(reason)

    def _excluding(self, url: Url) -> Iterator[str]:
        for name, globs in (("exclude", self._config.exclude), ("block", self._config.refuse)):
            for glob in globs:
                if Filters(FilterRules(exclude=(glob,))).refusal(url):
                    yield f"the pattern {glob!r} of `{name}` matches it"
        for pattern in self._config.exclude_patterns:
            if Filters(FilterRules(exclude_patterns=(pattern,))).refusal(url):
                yield f"the pattern {pattern!r} of `router.exclude_patterns` matches it"


def _reason(route: Route) -> str:
    return route.dropped[0].reason if route.dropped else next(iter(route.refused), "")


def _of_kind(kind: str, config: RouterConfig) -> str:
    if config.follow == "handlers":
        return f"links of kind `{kind}` are not followed, only those that handlers make (`follow = handlers`)"
    if kind in REQUISITES:
        return f"links of kind `{kind}` are followed only with --requisites"
    return f"links of kind `{kind}` are not followed"
