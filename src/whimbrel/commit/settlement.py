"""What a settled visit changes: all its effects, applied in one step to the open group."""

from collections import Counter
from hashlib import sha1
from typing import Final, Protocol

import msgspec

from whimbrel.archive.api import Capture, Profile, Reference, ResponseCapture, RevisitCapture
from whimbrel.clock import Clock
from whimbrel.commit.hostrow import host_row
from whimbrel.commit.journal import Journal
from whimbrel.commit.latency import Latency
from whimbrel.commit.work import Kept
from whimbrel.dedupe.api import ContentSeen
from whimbrel.fetch.document import MemoryDocument
from whimbrel.flow import Config, Metric, Needs, Provider
from whimbrel.frontier.api import Frontier
from whimbrel.frontier.distributor import Routed
from whimbrel.frontier.host import Host
from whimbrel.frontier.router import Route, Router
from whimbrel.outcome import Outcome, asks_to_slow_down
from whimbrel.parse.api import Parsed
from whimbrel.qualify.api import Qualification
from whimbrel.url import Url, parse
from whimbrel.visit import Discovered, Ending, HostName, Visit

_PAGES: Final = (Outcome.STORED, Outcome.DUPLICATE)
_MOST_CUT: Final = 10_000
"""Hosts whose cut URLs are counted."""
_NO_DIGEST: Final = sha1(b"", usedforsecurity=False).digest()
"""Of a body that must not be archived."""
_SCOPE_KEY: Final = b"scope"
"""Where redirecting seeds have led: the scope goes along, also after a restart."""


class Flushing(Frontier, Protocol):
    """A frontier that keeps changes in memory until a group is sealed."""

    @property
    def hosts(self) -> int: ...

    @property
    def queued(self) -> int: ...

    def flush(self) -> list[Host]: ...

    def note_all(self) -> None: ...

    def qualified(self, name: HostName, found: Qualification) -> None: ...

    def unqualified(self, name: HostName) -> None: ...

    def requeue(self, found: Discovered) -> None: ...


class SettlementConfig(Config, frozen=True):
    mime: tuple[str, ...] = ()
    """Types whose bodies are kept, such as `text/html` or `image/*`; all when empty. Of others the head is kept."""


class Settlement(Provider):
    """The one place where the crawl's memory is changed."""

    Config = SettlementConfig
    live = frozenset({"mime"})
    fixed = "what is being settled belongs to it"
    metrics = (
        Metric("visits_total", "counter", "Visits that are over, of all runs.", lambda own: own.counted("visits")),
        Metric("received_bytes_total", "counter", "Bytes of bodies, of all runs.", lambda own: own.counted("bytes")),
        Metric("outcomes_total", "counter", "Visits by outcome.", lambda own: own.counts("outcome "), label="outcome"),
        Metric("statuses_total", "counter", "Answers by status.", lambda own: own.counts("status "), label="status"),
        Metric(
            "links_refused_total", "counter", "Links not followed.", lambda own: own.counts("refused "), label="reason"
        ),
        Metric(
            "qualifications_total", "counter", "What hosts became.", lambda own: own.counts("host "), label="standing"
        ),
        Metric(
            "visit_seconds", "histogram", "How long answers take, since this run began.", lambda own: own.latency.read()
        ),
    )
    journal = Needs(Journal)
    frontier = Needs(Flushing)
    router = Needs(Router)
    content = Needs(ContentSeen)
    clock = Needs(Clock)

    async def open(self) -> None:
        self.latency = Latency()
        """Of answers, since this run began."""
        self.cut: Counter[str] = Counter()
        """URLs that limits have cut, by host, since this run began: a host with many is a trap."""
        self.journal.before_seal(self._write_down)
        state = self.journal.state
        self._leads = tuple(msgspec.msgpack.decode(state.get("meta", _SCOPE_KEY) or b"\x90", type=list[str]))
        for text in self._leads:
            self._extend(text)
        if not self.journal.resumed:
            for found in self.router.begin().found:
                self._admit(found)
            self.journal.add_event("crawl", "started", " ".join(url.text for url in self.router.seeds))
        else:
            self.journal.add_event("crawl", "resumed", "")

    async def close(self) -> None:
        self.frontier.note_all()
        await self.journal.conclude("done" if self.frontier.empty else "stopped")

    def seed(self, urls: tuple[Url, ...]) -> int:
        """More to begin with; how many of them are new."""
        before = self.frontier.queued
        for found in self.router.begin(urls).found:
            self._admit(found)
        return self.frontier.queued - before

    def requeue(self, found: Discovered, outcome: str, reason: str) -> None:
        """A URL that ended like this is visited once more."""
        self.frontier.requeue(found)
        self.journal.add_requeued(found.url.text, found.source)
        # What was counted stays counted: whoever shows how things stand takes these off.
        self.journal.counters[f"requeued outcome {outcome}"] += 1
        self.journal.counters[f"requeued reason {outcome} {reason}"] += 1

    def settle(self, routed: Routed) -> None:
        """A visit is over: the frontier forgets or postpones it, its links are queued, its rows and records are
        kept."""
        try:
            self._settle(routed)
        except BaseException:
            self.journal.abandon()
            raise

    def _settle(self, routed: Routed) -> None:
        parsed = self._judge_duplicate(routed.parsed)
        visit, exchange = parsed.fetched.visit, parsed.fetched.exchange
        response = exchange.response
        ending = Ending(
            elapsed_s=exchange.elapsed_s,
            status=0 if response is None else response.status,
            bytes=0 if response is None else response.document.size,
            trouble=parsed.reason if parsed.outcome in (Outcome.FAILED, Outcome.RETRY) else "",
            connected=exchange.connected,
            retry_after_s=parsed.retry_after_s,
        )
        kept = Kept(parsed)
        if parsed.outcome is Outcome.RETRY:
            kept.retry_at_s = self.clock.wall_s() + self.frontier.retry(visit, ending)
        else:
            kept.captures = captures_of(parsed, self.config.mime)
            if routed.route is not None:
                self._follow(visit, routed.route)
            self.frontier.finish(visit, ending)
        self.journal.add(kept)
        self._count(parsed, ending)
        if ending.retry_after_s or asks_to_slow_down(ending.status):
            self.journal.hurry()

    def _judge_duplicate(self, parsed: Parsed) -> Parsed:
        """Claim a new payload. Somebody may have brought the same one since it was looked up."""
        if parsed.outcome is not Outcome.STORED or not parsed.claims:
            return parsed
        visit = parsed.fetched.visit
        first = self.content.claim(parsed.digest, visit.url.text, parsed.fetched.exchange.started_s)
        if first is None:
            return parsed
        url, at_s = first
        return msgspec.structs.replace(
            parsed, outcome=Outcome.DUPLICATE, reason="same-payload", duplicate_of=url, duplicate_at_s=at_s
        )

    def _follow(self, visit: Visit, route: Route) -> None:
        seed_moved = route.target and not visit.depth and route.refused.pop("out-of-scope", 0)
        for found in route.found:
            self._admit(found)
        for url, reason, _ in route.dropped:
            self._drop(url, reason, visit.url.text)
        for reason, count in route.refused.items():
            self.journal.counters[f"refused {reason}"] += count
        if seed_moved:
            self._lead(route.target, visit)

    def _lead(self, target: str, visit: Visit) -> None:
        """A seed redirects out of scope: the scope is extended to where it leads."""
        self._extend(target)
        self._leads = (*self._leads, target)
        self.journal.state.put("meta", _SCOPE_KEY, msgspec.msgpack.encode(self._leads))
        self._follow(visit, self.router.redirect(visit, target))

    def _extend(self, text: str) -> None:
        url = parse(text)
        if url is not None:
            self.router.extend(url)

    def _admit(self, found: Discovered) -> None:
        verdict = self.frontier.add(found)
        if verdict == "too-many-queries":
            self._record_drop(found.url.text, verdict, found.source)

    def _drop(self, url: str, reason: str, source: str) -> None:
        if self.frontier.drop(url):
            self._record_drop(url, reason, source)

    def _record_drop(self, url: str, reason: str, source: str) -> None:
        self.journal.add_dropped(url, reason, source)
        self.journal.counters["outcome dropped"] += 1
        self.cut[url.split("/", 3)[2]] += 1
        if len(self.cut) > _MOST_CUT:
            self.cut = Counter(dict(self.cut.most_common(_MOST_CUT // 10)))
        self.journal.counters[f"reason dropped {reason}"] += 1

    def _count(self, parsed: Parsed, ending: Ending) -> None:
        counters = self.journal.counters
        counters["visits"] += 1
        counters["bytes"] += ending.bytes
        if ending.status:
            counters[f"status {ending.status}"] += 1
            self.latency.add(ending.elapsed_s)
        counters[f"outcome {parsed.outcome.value}"] += 1
        counters[f"reason {parsed.outcome.value} {parsed.reason}"] += 1

    def counted(self, name: str) -> int:
        return self.journal.counters[name]

    def counts(self, prefix: str) -> dict[str, float]:
        counters = self.journal.counters
        return {name[len(prefix) :]: count for name, count in counters.items() if name.startswith(prefix)}

    def _write_down(self) -> None:
        """Before a group is sealed."""
        for host in self.frontier.flush():
            if host.noted or not host.record.queued:
                host.noted = False
                self.journal.add_host(host_row(host))
        self.journal.counters["queued"] = self.frontier.queued
        self.journal.counters["hosts"] = self.frontier.hosts

    def qualified(self, name: HostName, found: Qualification) -> None:
        """A host has its answer from the qualifier: the sitemaps that robots.txt names are queued in the same step."""
        self.journal.counters[f"host {found.reason or found.standing}"] += 1
        try:
            self.frontier.qualified(name, found)
            if found.standing == "qualified":
                sitemaps = self.router.sitemaps(name, found.sitemaps)
                for proposed in self.router.propose(sitemaps, f"{name.site}/robots.txt", 1).found:
                    self._admit(proposed)
        except BaseException:
            self.journal.abandon()
            raise

    def unqualified(self, name: HostName) -> None:
        self.frontier.unqualified(name)


def captures_of(parsed: Parsed, types: tuple[str, ...] = ()) -> tuple[Capture, ...]:
    """What goes to the archive: every answer that ended a URL's visits, whatever its status."""
    exchange = parsed.fetched.exchange
    response, visit, page = exchange.response, parsed.fetched.visit, parsed.page
    if response is None:
        return ()
    metadata = (
        ("via", visit.source),
        ("hopsFromSeed", str(visit.depth)),
        ("fetchTimeMs", str(round(exchange.elapsed_s * 1000))),
    )
    common = (visit.url.text, exchange.started_s, exchange.address, response.http_version, exchange.request_head)
    if response.status == 304:
        return (RevisitCapture(*common, response.head, "server-not-modified", metadata=metadata),)
    digest = parsed.digest or sha1(response.document.read(), usedforsecurity=False).digest()
    if parsed.outcome is Outcome.DUPLICATE:
        original = Reference(parsed.duplicate_of, parsed.duplicate_at_s)
        profile: Profile = "identical-payload-digest"
        return (RevisitCapture(*common, response.head, profile, original, digest, response.truncated, metadata),)
    if page is None or ("noarchive" not in page.robots and _wanted(page.mime, types)):
        return (ResponseCapture(*common, response.head, response.document, digest, response.truncated, metadata),)
    return (ResponseCapture(*common, response.head, MemoryDocument(b""), _NO_DIGEST, "unspecified", metadata),)


def _wanted(mime: str, types: tuple[str, ...]) -> bool:
    """Whether a type is among those asked for; all are when none is named."""
    return not types or any(mime == kind or (kind.endswith("/*") and mime.startswith(kind[:-1])) for kind in types)
