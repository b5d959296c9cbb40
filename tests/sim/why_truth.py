"""What `whimbrel why` must answer for the URLs of a simulated web, computed from the web, the job and the server's log.

Nothing here comes from the crawler or its tables. The walk is that of the truth, with the job's filters on the way.
Where a limit leaves a choice (which pages of a host are visited before it has had enough of them, or how deep a page
was first found), the server's log says what was asked for.
"""

import re
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from whimbrel.simweb.exhibit import TROUBLES
from whimbrel.simweb.exhibit.api import Finding
from whimbrel.simweb.host import SimHost
from whimbrel.simweb.server.log import LoggedExchange
from whimbrel.simweb.truth import Truth, TruthLimits, TruthOptions
from whimbrel.simweb.web import Web, host_of

LIMITS: Final = {
    "too-long": "router.max_length = 2048",
    "too-many-segments": "router.max_segments = 20",
    "repeating-segments": "router.max_repeats = 2",
    "too-many-queries": "frontier.max_queries = 1000",
}
REQUISITES: Final = {"css": "style", "js": "script", "png": "img"}
ROBOTS_RULES: Final = {"deny-all": "/", "percent": "/priv%61te/", "wildcard": "/*.html$"}
"""The rule by which a variant denies, where it is not /private/."""
TRIES: Final = 3
PASSING: Final = frozenset(
    ("reset", "closed", "timeout", "too-slow", "cut", "bad-http", "http-408", "http-425", "http-429")
)
HOST_ERRORS: Final = {
    "dns": "no address",
    "private-address": "",
    "cut": "cut",
    "reset": "reset",
    "connect-reset": "reset",
    "stall": "timeout",
    "connect-silent": "timeout",
    "connect-refused": "refused",
    "redirect-6": "redirect",
    "redirect-loop": "redirect",
}
"""What is said of a host that was given up, by its trouble or its robots.txt; of the others a number or a family."""


@dataclass(frozen=True)
class WhyJob:
    """The options of a crawl, as far as they decide on URLs."""

    seeds: tuple[str, ...]
    scope: str = "any"
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    block: tuple[str, ...] = ()
    """Names of hosts and domains."""
    refuse: tuple[str, ...] = ()
    """Patterns that are blocked."""
    max_depth: int | None = None
    max_pages_per_host: int | None = None

    def options(self) -> list[str]:
        found = ["--scope", self.scope, "--max-depth", str(self.max_depth or 0)]
        for name in ("include", "exclude", "block"):
            for value in getattr(self, name):
                found += [f"--{name}", value]
        for value in self.refuse:
            found += ["--block", value]
        most = self.max_pages_per_host
        return found + (["--max-pages-per-host", str(most)] if most is not None else [])

    def refusal(self, url: str) -> tuple[str, str] | None:
        """Why a link to a URL is not followed, and the rule; None when it is."""
        host = host_of(url.split("/", 3)[2])
        for name in self.block:
            if host == name or host.endswith(f".{name}"):
                return "blocked-domain", name
        for pattern in (*self.exclude, *self.refuse):
            if _matches(pattern, url):
                return "excluded", pattern
        if self.include and not any(_matches(pattern, url) for pattern in self.include):
            return "not-included", ", ".join(self.include)
        return None if self.holds(url) else ("out-of-scope", f"scope = {self.scope}")

    def holds(self, url: str) -> bool:
        return self.scope == "any" or self._place(url) in self._places

    @cached_property
    def _places(self) -> frozenset[str]:
        return frozenset(map(self._place, self.seeds))

    def _place(self, url: str) -> str:
        name = host_of(url.split("/", 3)[2])
        if self.scope == "domain":
            return ".".join(name.split(".")[-2:])
        # The twins of a host: http and https at their usual ports, with and without www.
        return url.split("/", 3)[2].removeprefix("www.")


def _matches(pattern: str, url: str) -> bool:
    return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), url) is not None


@dataclass(frozen=True)
class Expected:
    """One answer that is right."""

    kind: str
    outcome: str = ""
    reason: str = ""
    rule: str = ""
    said: str | None = None
    """Instead of the rule: what it must contain."""
    payload: str = ""
    """Stored, or a duplicate of another URL with this payload: whichever was met first."""


@dataclass
class WhyTruth:
    web: Web
    job: WhyJob
    log: Iterable[LoggedExchange]
    max_bytes: int = 5_000_000
    answers: dict[str, list[Expected]] = field(default_factory=dict)
    """Of every URL that the crawl met; several where the order of the crawl decides."""
    payloads: dict[str, str] = field(default_factory=dict)
    """Of every document that was kept."""

    def __post_init__(self) -> None:
        self._truth = Truth(self.web, self.job.seeds, TruthOptions(limits=TruthLimits(hops=None)))
        self._requests: Counter[str] = Counter()
        self._asked_of: Counter[str] = Counter()
        self._resets_of: Counter[str] = Counter()
        for one in self.log:
            if one.served != "robots" and one.target != "/no-robots-here":
                site = f"{one.scheme}://{one.host}:{one.server.rpartition(':')[2]}"
                self._requests[site + one.target] += 1
                self._asked_of[site] += 1
                self._resets_of[site] += one.served.startswith("reset")
        self._depths: dict[str, int] = {}
        self._refused: defaultdict[str, set[tuple[str, str]]] = defaultdict(set)
        self._requisites: dict[str, str] = {}
        self._sites: dict[str, SimHost | None] = {}
        """Hosts that robots.txt was asked of."""
        self._walk()

    def expected(self, url: str) -> list[Expected]:
        if url in self.answers:
            return self.answers[url]
        if url in self._refused:
            return [Expected("refused", reason=reason, rule=rule) for reason, rule in self._refused[url]]
        if url in self._requisites:
            return [Expected("refused", reason="not-followed", rule=self._requisites[url])]
        return [self._prospect(url)]

    def _prospect(self, url: str) -> Expected:
        """Nobody has heard of it: what would become of a link to it."""
        refusal = self.job.refusal(url)
        if refusal is not None:
            return Expected("unknown", reason=refusal[0], rule=refusal[1])
        cut = self._truth._cut_by_spelling(url)
        if cut:
            return Expected("unknown", reason=cut, rule=LIMITS[cut])
        site = _site(url)
        if site not in self._sites:
            return Expected("unknown")
        host, target = self._sites[site], _target(url)
        if host is None:
            return Expected("unknown", reason="given-up", said="")
        refusal = self._truth._refusal(host, target)
        if refusal is None:
            return Expected("unknown")
        if refusal[1] == "robots":
            return Expected("unknown", reason="robots", rule=_rule(host, target))
        return Expected("unknown", reason="given-up", said=_host_error(host))

    def _walk(self) -> None:
        waiting: deque[tuple[str, int]] = deque()
        for seed in self.job.seeds:
            self._depths[seed] = 0
            waiting.append((seed, 0))
        while waiting:
            url, depth = waiting.popleft()
            if self._depths[url] != depth:
                continue
            self._depths[url] = -1
            self.answers[url], links, is_redirect = self._visit(url, depth)
            found: deque[tuple[str, int]] = deque()
            for link in links:
                self._discover(link, depth if is_redirect else depth + 1, found)
            if is_redirect:
                waiting.extendleft(reversed(found))
            else:
                waiting.extend(found)

    def _discover(self, url: str, depth: int, waiting: deque[tuple[str, int]]) -> None:
        if depth >= self._depths.get(url, depth + 1):
            return
        refusal = self.job.refusal(url)
        if refusal is not None:
            self._refused[url].add(refusal)
            return
        self._depths[url] = depth
        waiting.append((url, depth))

    def _visit(self, url: str, depth: int) -> tuple[list[Expected], Iterable[str], bool]:
        """What may be answered for a URL that was discovered, the links that are found there, and whether it is a
        redirect."""
        cut = self._cut(url, depth)
        if cut is not None:
            return [cut], (), False
        held = next((name for name in self.job.block if _is_under(url, name)), "")
        if held:  # A seed: links to it are refused.
            return [Expected("queued", reason="blocked-domain", rule=held)], (), False
        host, site = self.web.hosts.find(host_of(url.split("/", 3)[2])), _site(url)
        self._sites[site] = host
        refusal = self._refusal(url, host)
        if refusal is not None:
            links = self._truth._sitemaps(host) if host is not None and refusal.reason == "robots" else ()
            waits = self._unfinished(url, 0) if refusal.outcome == "denied" else self._perhaps_too_deep()
            return [refusal, *waits], links, False
        assert host is not None
        return self._fetched(url, host, depth)

    def _cut(self, url: str, depth: int) -> Expected | None:
        cut, most = self._truth._cut_by_spelling(url), self.job.max_depth
        if not cut and most is not None and depth > most:
            return Expected("visited", "dropped", "too-many-hops", f"max_depth = {most}")
        cut = cut or self._truth._cut(url, _target(url), depth)
        return Expected("visited", "dropped", cut, LIMITS[cut]) if cut else None

    def _perhaps_too_deep(self) -> list[Expected]:
        """Where nothing was asked for, a longer way may have been the first."""
        most = self.job.max_depth
        return [] if most is None else [Expected("visited", "dropped", "too-many-hops", f"max_depth = {most}")]

    def _refusal(self, url: str, host: SimHost | None) -> Expected | None:
        """Why nothing is asked for, of a URL that is queued."""
        if host is None:
            reason = "private-address" if "[" in url or url.split("/")[2][0].isdigit() else "dns"
            return Expected("visited", "failed", reason, said=HOST_ERRORS[reason])
        target = _target(url)
        refusal = self._truth._refusal(host, target)
        if refusal is None:
            pattern = next((one for one in self.job.refuse if _matches(one, url)), "")
            return Expected("visited", "denied", "blocked", pattern) if pattern else None
        if refusal[1] == "robots":
            return Expected("visited", *refusal, _rule(host, target))
        return Expected("visited", *refusal, said=_host_error(host))

    def _fetched(self, url: str, host: SimHost, depth: int) -> tuple[list[Expected], Iterable[str], bool]:
        target = _target(url)
        finding, payload, _ = self._truth._find(url, host, target)
        sitemaps = self._truth._sitemaps(host)
        tries, needed = self._requests[url], _needed(url, finding)
        if tries < needed:
            waiting = self._unfinished(url, tries)
            # A connection that was used before is given up and the request sent once more: two lines for one try.
            ended = [] if waiting and self._is_exhausted(url) else [self._ended(finding, payload)]
            return waiting + ended, sitemaps, False
        answers = [self._ended(finding, payload)]
        if tries < 2 * needed and self._is_exhausted(url) and needed > 1:
            answers += self._unfinished(url, tries)
        if finding.outcome == "stored":
            self.payloads[url] = payload
            self._note_page(url, host, target)
        return answers, (*finding.links, *sitemaps), finding.outcome == "redirected"

    def _unfinished(self, url: str, tries: int) -> list[Expected]:
        """It was asked for too few times to have an end."""
        most, found = self.job.max_pages_per_host, []
        if self._is_exhausted(url) or self._is_perhaps_exhausted(url):
            outcome = "retry" if tries else ""
            found.append(Expected("queued", outcome, "max-pages-per-host", f"max_pages_per_host = {most}"))
        return found + ([] if tries else self._perhaps_too_deep())

    def _is_exhausted(self, url: str) -> bool:
        most = self.job.max_pages_per_host
        return most is not None and self._asked_of[_site(url)] >= most

    def _is_perhaps_exhausted(self, url: str) -> bool:
        """After a reset, a request may go out on the connection that is just being torn down: no line in the log."""
        most, site = self.job.max_pages_per_host, _site(url)
        return most is not None and self._asked_of[site] + self._resets_of[site] >= most

    def _ended(self, finding: Finding, payload: str) -> Expected:
        rule = ""
        if finding.outcome == "redirected":
            rule = finding.links[0] if finding.links else ""
        elif finding.reason == "truncated-length":
            rule = f"max_file_size = {self.max_bytes}"
        kept = payload if finding.outcome == "stored" else ""
        return Expected("visited", finding.outcome, finding.reason, rule, payload=kept)

    def _note_page(self, url: str, host: SimHost, target: str) -> None:
        """What a page refers to and a crawl does not follow."""
        if self.web.page_number(host, target) is not None:
            for ending, kind in REQUISITES.items():
                self._requisites[f"{host.origin}/static/{host.content % 8}.{ending}"] = kind
            return
        found = self.web.exhibit(host, target)
        if found is not None and found[0].family == "directive" and not found[0].judge(found[1]).links:
            for link in found[1].found():
                self._refused[link].add(("nofollow", "nofollow"))

    @property
    def sites(self) -> list[str]:
        """Those that robots.txt was asked of."""
        return list(self._sites)


def _needed(url: str, finding: Finding) -> int:
    """How often a URL must be asked for until its fate is known."""
    name = url.split("/x/", 1)[1].split("/", 1)[0] if "/x/" in url else ""
    if name == "recovers-retry-after":
        return 2
    if name.startswith("recovers-"):
        return min(TRIES, int(name.removeprefix("recovers-")) + 1)
    fails = finding.outcome == "failed"
    server_error = finding.reason.startswith("http-5") and finding.reason not in ("http-501", "http-505")
    return TRIES if fails and (server_error or finding.reason in PASSING) else 1


def _rule(host: SimHost, target: str) -> str:
    if host.robots == "group-merge":
        return f"Disallow: /{target.split('/')[1]}/"
    return f"Disallow: {ROBOTS_RULES.get(host.robots, '/private/')}"


def _host_error(host: SimHost) -> str:
    """What must be said of a host that was given up."""
    trouble = TROUBLES.get(host.trouble)
    if trouble is not None and trouble.outcome:
        if trouble.reason in HOST_ERRORS:
            return HOST_ERRORS[trouble.reason]
        return HOST_ERRORS.get(trouble.name, trouble.family)
    return HOST_ERRORS.get(host.robots, host.robots.rpartition("-")[2])


def _is_under(url: str, name: str) -> bool:
    host = host_of(url.split("/", 3)[2])
    return host == name or host.endswith(f".{name}")


def _site(url: str) -> str:
    return url[: url.index("/", 8)]


def _target(url: str) -> str:
    return url[url.index("/", 8) :]


def universe(web: Web, seeds: tuple[str, ...]) -> Iterator[str]:
    """Every URL that a page or a sitemap of the web names, whatever a crawl makes of it, and some that none does."""
    options = TruthOptions(limits=TruthLimits(hops=None), sitemaps=True, requisites=True)
    hosts: set[str] = set()
    for row in Truth(web, seeds, options).rows():
        yield row.url
        site = _site(row.url)
        if site not in hosts:
            hosts.add(site)
            yield from (f"{site}/invented/page.html", f"{site}/private/invented.html", f"{site}/x/found/hidden")
        host = web.hosts.find(host_of(row.url.split("/", 3)[2]))
        found = None if host is None else web.exhibit(host, _target(row.url))
        if found is not None and found[0].family == "directive":
            yield from found[1].found()
    suffix = web.spec.suffix
    yield from (f"https://nobody-{at}.{suffix}/a/a/a/a" for at in range(3))
    yield from (f"http://sub.nobody-{at}.example/{'l' * 2_100 if at else ''}" for at in range(3))
