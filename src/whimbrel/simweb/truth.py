"""What a correct crawl makes of a simulated web: for each URL it can reach, the outcome and the reason.

The walk uses the same functions as the server and none of the crawler. It is breadth first, a redirect costing no hop.
Which URLs are reached does not depend on the order of a crawl as long as the hop limit does not cut (`TruthLimits.hops`
counts the shortest way); every other limit is a function of the URL, or of the order of links on one page.
"""

import hashlib
import ipaddress
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from typing import Final, Literal

import msgspec

from whimbrel.simweb import sitemap
from whimbrel.simweb.answer import Reply, SimRequest
from whimbrel.simweb.exhibit import TROUBLES
from whimbrel.simweb.exhibit.api import ExhibitPlace, Finding
from whimbrel.simweb.exhibit.robots import VARIANTS
from whimbrel.simweb.host import SimHost
from whimbrel.simweb.page import path
from whimbrel.simweb.web import Web, host_of

_VISITED: Final = -1
_BY_RULE: Final = ("denied", "robots")
_NEVER_DUPLICATE: Final = 256
"""Bodies shorter than this are never called duplicates."""


class TruthLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How a correct crawl cuts traps. None lifts a limit.

    `repeats` is how often a run of path segments may stand in a row; `queries` how many URLs of one host, path and set
    of query keys are queued, first come, first served.
    """

    hops: int | None = 20
    segments: int | None = 20
    repeats: int | None = 2
    length: int | None = 2048
    queries: int | None = 1000


class TruthOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What the crawl is told; the same meaning as the crawler's options."""

    limits: TruthLimits = TruthLimits()
    scope: Literal["host", "domain", "any"] = "any"
    rfc9309: bool = False
    sitemaps: bool = False
    """Read the sitemaps of every host, not only where robots.txt names them."""
    requisites: bool = False
    ascend: bool = False
    """Each URL that may be visited also proposes the folders above it."""


class TruthRow(msgspec.Struct, frozen=True, kw_only=True):
    """One URL. `payload` is equal for URLs with equal bodies: a correct crawl stores one of them, whichever it
    meets first, and calls the others duplicates. `near` is equal for near-duplicates, `topic` is the page's subject."""

    url: str
    outcome: str
    reason: str
    depth: int
    payload: str = ""
    near: str = ""
    topic: str = ""


def too_repetitive(segments: Sequence[str], most: int) -> bool:
    """Whether some run of segments stands more than `most` times in a row."""
    count = len(segments)
    for run in range(1, count // (most + 1) + 1):
        same = 0
        for at in range(run, count):
            same = same + 1 if segments[at] == segments[at - run] else 0
            if same >= run * most:
                return True
    return False


class Truth:
    def __init__(self, web: Web, seeds: Sequence[str], options: TruthOptions | None = None) -> None:
        self._web = web
        self._options = options or TruthOptions()
        self._seeds = seeds
        self._depths: dict[str, int] = {}
        """The least depth at which each URL has been found."""
        self._queries: Counter[tuple[str, str]] = Counter()
        self._payloads: set[str] = set()
        self._sitemap_hosts: set[str] = set()
        self._scope = {self._scope_key(url) for url in seeds}

    def rows(self) -> Iterator[TruthRow]:
        """Every URL once, those of lesser depth first."""
        waiting: deque[tuple[str, int]] = deque()
        for seed in self._seeds:
            self._discover(seed, 0, waiting)
        while waiting:
            url, depth = waiting.popleft()
            if self._depths[url] != depth:
                continue  # It was reached by a shorter way and has had its turn.
            self._depths[url] = _VISITED
            row, links = self._visit(url, depth)
            yield row
            if row.outcome == "redirected":
                # A redirect is no hop: its target is as near as it is, and comes next.
                targets: deque[tuple[str, int]] = deque()
                for link in links:
                    self._discover(link, depth, targets)
                waiting.extendleft(reversed(targets))
            else:
                for link in links:
                    self._discover(link, depth + 1, waiting)

    def _discover(self, url: str, depth: int, waiting: deque[tuple[str, int]]) -> None:
        if depth >= self._depths.get(url, depth + 1):
            return
        if self._options.scope != "any" and self._scope_key(url) not in self._scope:
            return
        self._depths[url] = depth
        waiting.append((url, depth))
        if self._options.ascend and not self._cut_by_spelling(url):
            for parent in _parents(url):
                self._discover(parent, depth, waiting)

    def _scope_key(self, url: str) -> str:
        name = host_of(url.split("/", 3)[2])
        return name if self._options.scope == "host" else name.split(".", 1)[-1]

    def _visit(self, url: str, depth: int) -> tuple[TruthRow, Sequence[str]]:
        host = self._web.hosts.find(host_of(url.split("/", 3)[2]))
        target = "/" + url.split("/", 3)[3]
        cut = self._cut(url, target, depth)
        if cut:
            return TruthRow(url=url, outcome="dropped", reason=cut, depth=depth), ()
        if host is None:
            return TruthRow(url=url, outcome="failed", reason=_foreign_reason(url), depth=depth), ()
        refusal = self._refusal(host, target)
        if refusal:
            known = self._sitemaps(host) if refusal == _BY_RULE else ()
            return TruthRow(url=url, outcome=refusal[0], reason=refusal[1], depth=depth), known
        finding, payload, topic = self._find(url, host, target)
        outcome, reason = finding.outcome, finding.reason
        if outcome == "stored" and payload:
            if payload in self._payloads:
                outcome, reason = "duplicate", "same-payload"
            self._payloads.add(payload)
        row = TruthRow(
            url=url, outcome=outcome, reason=reason, depth=depth, payload=payload, near=finding.near, topic=topic
        )
        return row, (*finding.links, *self._sitemaps(host))

    def _cut(self, url: str, target: str, depth: int) -> str:
        """The limit that drops a URL, or nothing. They are asked in this order."""
        limits = self._options.limits
        cut = self._cut_by_spelling(url)
        if cut:
            return cut
        query = target.partition("?")[2]
        if limits.hops is not None and depth > limits.hops:
            return "too-many-hops"
        if query and limits.queries is not None:
            keys = "&".join(sorted({part.partition("=")[0] for part in query.split("&")}))
            group = (url.partition("?")[0], keys)
            self._queries[group] += 1
            if self._queries[group] > limits.queries:
                return "too-many-queries"
        return ""

    def _cut_by_spelling(self, url: str) -> str:
        """The limits that only look at the URL."""
        limits = self._options.limits
        where = url.split("/", 3)[3].partition("?")[0]
        segments = [segment for segment in where.split("/") if segment]
        if limits.length is not None and len(url) > limits.length:
            return "too-long"
        if limits.segments is not None and len(segments) > limits.segments:
            return "too-many-segments"
        if limits.repeats is not None and too_repetitive(segments, limits.repeats):
            return "repeating-segments"
        return ""

    def _refusal(self, host: SimHost, target: str) -> tuple[str, str] | None:
        """Why no URL, or not this one, may be fetched from a host; None when it may."""
        trouble = TROUBLES.get(host.trouble)
        if trouble is not None and trouble.outcome:
            return trouble.outcome, trouble.reason
        robots = VARIANTS[host.robots]
        if not robots.admits(rfc9309=self._options.rfc9309):
            return "denied", "robots-unreachable"
        return _BY_RULE if robots.denies(target) else None

    def _find(self, url: str, host: SimHost, target: str) -> tuple[Finding, str, str]:
        """What is at a URL that may be fetched, the class of its payload, and its topic."""
        if not url.startswith(host.origin + "/"):
            return Finding("redirected", "http-301", (host.origin + target,)), "", ""
        number = self._web.page_number(host, target)
        if number is not None:
            return Finding("stored", "new", self._page_links(host, number)), f"{host.content}/{number}", host.topic
        place = self._web.exhibit(host, target)
        finding = place[0].judge(place[1]) if place else None
        answer = self._web.respond(host, SimRequest("GET", host.name, target), self._web.spec.epoch_s)
        if finding is None:
            finding = _plain_finding(answer.status, host, target)
        payload = finding.payload
        if (
            finding.outcome == "stored"
            and isinstance(answer, Reply)
            and _plain_bytes(answer, place[1] if place and finding.reason == "new" else None) >= _NEVER_DUPLICATE
        ):
            payload = payload or hashlib.blake2b(answer.body, digest_size=16).hexdigest()
        return finding, payload, host.topic if finding.outcome == "stored" else ""

    def _page_links(self, host: SimHost, number: int) -> tuple[str, ...]:
        page, origin = self._web.pages.get(host, number), host.origin
        links = [origin + path(to) for to in page.inner]
        links += [self._web.hosts.origin(to) + path(there) for to, there in page.outer]
        links += [f"{origin}/x/{name}/{number}" for name in page.exhibits]
        if self._options.requisites:
            links += [f"{origin}/static/{host.content % 8}.{ending}" for ending in ("css", "js", "png")]
        return tuple(links)

    def _sitemaps(self, host: SimHost) -> tuple[str, ...]:
        """The sitemap index of a host, when the crawl knows of it; once per host."""
        if host.name in self._sitemap_hosts or not (self._options.sitemaps or host.robots == "sitemap"):
            return ()
        self._sitemap_hosts.add(host.name)
        return (host.origin + sitemap.INDEX,)


def _plain_bytes(answer: Reply, place: ExhibitPlace | None) -> int:
    """How long a body is without its content coding, where that can be taken off: this decides whether it can be a
    duplicate."""
    coded = any(name.lower() == "content-encoding" for name, _ in answer.headers)
    return len(place.document().encode()) if coded and place is not None else len(answer.body)


def _parents(url: str) -> list[str]:
    """The folders above a URL, the nearest first."""
    origin, _, where = url.partition("://")[2].partition("/")
    origin = f"{url.partition('://')[0]}://{origin}/"
    segments = where.partition("?")[0].split("/")
    if segments[-1] == "" and "?" not in where:
        segments.pop()
    return [origin + "".join(f"{part}/" for part in segments[:at]) for at in range(len(segments) - 1, -1, -1)]


def _plain_finding(status: int, host: SimHost, target: str) -> Finding:
    """Sitemaps, requisites, robots.txt when somebody links to it, and pages that are not there."""
    links: Sequence[str] = ()
    if target == sitemap.INDEX:
        links = [host.origin + sitemap.PLAIN, host.origin + sitemap.PACKED]
    elif target == sitemap.PLAIN:
        links = sitemap.pages(host)
    elif target == sitemap.PACKED:
        links = sitemap.orphans(host)
    return Finding("stored", "new", tuple(links)) if status == 200 else Finding("gone", f"http-{status}")


def _foreign_reason(url: str) -> str:
    """Why a host that is not of this web cannot be fetched from."""
    authority = url.split("/", 3)[2]
    try:
        address = ipaddress.ip_address(authority.strip("[]"))
    except ValueError:
        return "dns"
    return "private-address" if not address.is_global else "unreachable"
