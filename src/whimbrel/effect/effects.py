"""What a visit changes: all its effects, applied in one step to the open group."""

from typing import ClassVar

import msgspec

from whimbrel.archive.api import Capture
from whimbrel.clock import Clock
from whimbrel.commit.counters import Counters
from whimbrel.commit.journal import Journal
from whimbrel.dedupe.api import ContentSeen, FirstCapture
from whimbrel.effect.archivist import captures_of
from whimbrel.effect.counting import Counting
from whimbrel.effect.scope_lead import ScopeLeads
from whimbrel.fetch.api import Exchange
from whimbrel.fetch.trouble import Fault
from whimbrel.flow import Config, In, Metric, Needs, Provider, Sync
from whimbrel.frontier.api import Frontier
from whimbrel.outcome import Outcome, asks_to_slow_down
from whimbrel.outcome.classify import classify_refusal
from whimbrel.outcome.duplicate import classify_known_payload
from whimbrel.outcome.retry import RetryPolicy
from whimbrel.parse.api import Parsed
from whimbrel.qualify.api import Qualification
from whimbrel.result.rows import host_row
from whimbrel.result.work import SettledVisit
from whimbrel.route.distributor import Routed
from whimbrel.route.router import Route, Router
from whimbrel.shortage import Shortage
from whimbrel.url import Url
from whimbrel.visit import Discovered, HostName, Request, Visit, VisitResult


class EffectsConfig(Config, frozen=True):
    mime: tuple[str, ...] = ()
    """Types whose bodies are kept, such as `text/html` or `image/*`; all when empty. Of others the head is kept."""
    max_tries: int = 3
    """Visits of one URL, the first included."""
    retry_s: float = 30.0
    """Before the second try; four times as long before each further one."""


class Effects(Provider):
    """The one place where the crawl's memory is changed."""

    Config = EffectsConfig
    live = frozenset(EffectsConfig.__struct_fields__)
    fixed = "what visits change goes through it"
    via: ClassVar[str] = "fetch"
    """How answers come to us."""
    metrics = (
        Metric("visits_total", "counter", "Visits that are over, of all runs.", lambda own: own.counters.visits),
        Metric("received_bytes_total", "counter", "Bytes of bodies, of all runs.", lambda own: own.counters.bytes),
        Metric("outcomes_total", "counter", "Visits by outcome.", lambda own: own.counters.outcomes, label="outcome"),
        Metric("statuses_total", "counter", "Answers by status.", lambda own: own.counters.statuses, label="status"),
        Metric(
            "links_refused_total", "counter", "Links not followed.", lambda own: own.counters.refused, label="reason"
        ),
        Metric(
            *("qualifications_total", "counter", "What hosts became."),
            lambda own: own.counters.qualifications,
            label="standing",
        ),
        Metric(
            *("visit_seconds", "histogram", "How long answers take, since this run began."),
            lambda own: own.counting.latency.read(),
        ),
    )
    journal = Needs(Journal)
    frontier = Needs(Frontier)
    router = Needs(Router)
    content = Needs(ContentSeen)
    clock = Needs(Clock)

    async def open(self) -> None:
        self.counting = Counting(self.journal.counters)
        self._leads = ScopeLeads(self.journal.state, self.router)
        self.journal.before_seal(self._write_down)

    async def close(self) -> None:
        self.frontier.note_all()
        # Nothing is queued either when something failed before the seeds were.
        has_begun = self.journal.seeded or self.counters.visits > 0
        await self.journal.conclude("done" if self.frontier.empty and has_begun else "stopped")

    @property
    def counters(self) -> Counters:
        return self.journal.counters

    def admit(self, found: Discovered) -> bool:
        """Queue a URL; true when it was not known before. Whatever finds new URLs brings them here."""
        verdict = self.frontier.add(found)
        if verdict == "too-many-queries":
            self._record_drop(found.url, verdict, found.source)
        return not verdict

    def requeue(self, found: Discovered, outcome: str, reason: str) -> None:
        """A URL that ended like this is visited once more, unless it is queued already."""
        again = msgspec.structs.replace(found, request=Request(found.url, purpose="revisit"))
        if not self.frontier.requeue(again):
            return
        self.journal.add_requeued(found.url, found.source)
        self.counting.count_requeued(outcome, reason)

    def apply(self, routed: Routed) -> None:
        """A visit is over: the frontier forgets or postpones it, its links are queued, its rows and records are
        kept."""
        try:
            self._apply(routed)
        except BaseException:
            self.journal.abandon()
            raise

    def _apply(self, routed: Routed) -> None:
        parsed = routed.parsed
        visit, exchange = parsed.visit, parsed.exchange
        if exchange.trouble.fault is Fault.LOCAL:
            self.frontier.abandon(visit)
            self._report(exchange.shortage)
            return
        wait_s = self._wait_s(parsed)
        outcome, reason, earlier = Outcome.RETRY, parsed.reason, None
        if wait_s is None:
            outcome, reason, earlier = self.decide(parsed)
        settled = SettledVisit(
            visit,
            outcome,
            reason,
            exchange.started_s,
            exchange,
            parsed.page,
            parsed.digest,
            earlier,
            parsed.redirect_to,
            parsed.handled,
            () if wait_s is not None else self.keep(parsed, earlier),
            0.0 if wait_s is None else self.clock.wall_s() + wait_s,
            self.via,
        )
        result = _result_of(exchange, outcome, reason, parsed.retry_after_s)
        known = False
        if wait_s is not None:
            self.frontier.retry(visit, result, wait_s)
        else:
            if routed.route is not None:
                self._follow(visit, routed.route)
            known = self._finish(visit, result)
        self._record(settled, result, known=known)
        if visit.token and asks_to_slow_down(result.status, result.retry_after_s):
            self.journal.hurry()

    def decide(self, parsed: Parsed) -> tuple[Outcome, str, FirstCapture | None]:
        """Outcome and reason of a visit, and the capture that brought its payload before. A payload is claimed here:
        another visit may have brought it since it was looked up. A subclass may know more of the document."""
        if not parsed.comparable:
            return parsed.outcome, parsed.reason, None
        url = parsed.visit.url.text
        earlier = parsed.earlier or self.content.claim(parsed.digest, FirstCapture(url, parsed.exchange.started_s))
        if earlier is None:
            return parsed.outcome, parsed.reason, None
        return *classify_known_payload(url, earlier.url), earlier

    def keep(self, parsed: Parsed, earlier: FirstCapture | None) -> tuple[Capture, ...]:
        """What the archive keeps of a visit whose outcome is final; `earlier` is the capture with the same payload. A
        subclass may keep something else."""
        return captures_of(parsed, earlier, self.config.mime)

    def _finish(self, visit: Visit, result: VisitResult) -> bool:
        """The frontier is done with a URL; true if this is a visit of a known page. A visit that it has not let out has
        no entry there: its URL is remembered like any other."""
        if not visit.token:
            return not self.frontier.remember(visit.url)
        self.frontier.finish(visit, result)
        return visit.request.purpose == "revisit"

    def _wait_s(self, parsed: Parsed) -> float | None:
        """In how many seconds the visit is made again; None when it is not."""
        if not parsed.passing or not parsed.visit.token:
            return None
        config: EffectsConfig = self.config
        return RetryPolicy(config.max_tries, config.retry_s).wait_s(parsed.visit.attempt, parsed.retry_after_s)

    def refuse(self, visit: Visit) -> None:
        """A visit is over before a request was made: robots.txt forbids it, or its host was given up."""
        try:
            outcome = classify_refusal(visit.refusal)
            settled = SettledVisit(visit, outcome, visit.refusal, self.clock.wall_s())
            result = VisitResult(connected=False)
            self.frontier.finish(visit, result)
            self._record(settled, result)
        except BaseException:
            self.journal.abandon()
            raise

    def _record(self, settled: SettledVisit, result: VisitResult, *, known: bool = False) -> None:
        self.journal.add(settled)
        self.counting.count_visit(settled, result, known=known)

    def _follow(self, visit: Visit, route: Route) -> None:
        if self._leads.follows(visit, route):
            self._leads.add(route.target)
            self._follow(visit, self.router.redirect(visit, route.target))
            return
        self._take(route, visit.url.text)

    def _take(self, route: Route, source: str) -> None:
        """Queue what was found, and keep account of what was not followed."""
        for found in route.found:
            self.admit(found)
        for cut in route.dropped:
            if self.frontier.remember(cut.url):
                self._record_drop(cut.url, cut.reason, source)
        self.counting.count_refused(route.refused)
        self.router.remember(route)

    def _record_drop(self, url: Url, reason: str, source: str) -> None:
        self.journal.add_dropped(url, reason, source)
        self.counting.count_dropped(url, reason)

    def _write_down(self) -> None:
        """Before a group is sealed."""
        for host in self.frontier.flush():
            self.journal.add_host(host_row(host))
        self.counters.queued = self.frontier.queued
        self.counters.hosts = self.frontier.hosts

    def qualified(self, name: HostName, found: Qualification) -> None:
        """A host has its answer from the qualifier: the sitemaps that robots.txt names are queued in the same step."""
        self.counting.count_qualification(found.reason or found.standing)
        try:
            self.frontier.qualified(name, found)
            if found.standing == "qualified":
                sitemaps = self.router.sitemaps(name, found.sitemaps)
                source = f"{name.origin}/robots.txt"
                self._take(self.router.propose(sitemaps, source, 1), source)
            self.journal.seal_if_full()
        except BaseException:
            self.journal.abandon()
            raise

    def refreshed(self, name: HostName, found: Qualification) -> None:
        """A host has other addresses, or none any more, which is counted like any disqualification."""
        if found.standing != "qualified":
            self.counting.count_qualification(found.reason or found.standing)
        try:
            self.frontier.refreshed(name, found)
        except BaseException:
            self.journal.abandon()
            raise

    def unqualified(self, name: HostName, shortage: Shortage | None = None) -> None:
        self.frontier.unqualified(name)
        self._report(shortage)

    def _report(self, shortage: Shortage | None) -> None:
        if shortage is not None:
            self.journal.pause_for(shortage)


def _result_of(exchange: Exchange, outcome: Outcome, reason: str, retry_after_s: float) -> VisitResult:
    """What etiquette needs to know of an exchange."""
    response = exchange.response
    return VisitResult(
        elapsed_s=exchange.elapsed_s,
        status=0 if response is None else response.status,
        bytes=0 if response is None else response.document.size,
        trouble=reason if outcome in (Outcome.FAILED, Outcome.RETRY) else "",
        connected=exchange.connected,
        retry_after_s=retry_after_s,
    )


class Archivist(Sync):
    """The end of every visit."""

    routed = In(Routed)
    effects = Needs(Effects)

    def process(self, routed: Routed) -> None:
        self.effects.apply(routed)
