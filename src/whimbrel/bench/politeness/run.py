"""The experiment: crawl a troubled web with real delays, kill the crawl now and then, and judge what the web saw."""

import random
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import msgspec

from whimbrel.bench.politeness.etiquette import Violation, with_delay
from whimbrel.bench.politeness.judge import RULES, busiest, judge
from whimbrel.bench.politeness.stage import Stage, StageError, access_log, crawl_command, resume_command, staged
from whimbrel.simweb.exhibit.robots import VARIANTS
from whimbrel.simweb.server.log import LoggedExchange
from whimbrel.simweb.spec import WebSpec

_PAGES: Final = 40
_REQUESTS_PER_HOST: Final = 25
"""Fewer than there are pages: some hosts may not be visited at all, and those that were met last have little time."""
_SEEDS: Final = 20
_CROWDED: Final = "127.2."
"""Where simweb has the addresses that many hosts share."""
_LOOK_S: Final = 0.1
_SETTLE_S: Final = 0.5
"""What a killed crawl had sent by then, the server has read after this."""
_EXAMPLES: Final = 5
"""Of each rule."""
_STOPPED: Final = 3


class PolitenessPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What to do. The crawl is stopped after so many requests, or after `max_s`."""

    requests: int = 100_000
    kills: int = 5
    delay_s: float = 0.5
    connections: int = 256
    max_s: float = 600.0
    seed: int = 1


class PolitenessResult(msgspec.Struct, frozen=True, kw_only=True):
    """What came of it. `violations` has every rule, with 0 where it was kept."""

    requests: int
    pages: int
    robots: int
    hosts: int
    seconds: float
    kills: int
    ended: str
    """Why the crawl is over: `requests`, `time`, or `done` when it had nothing more to do."""
    violations: dict[str, int]
    examples: list[Violation]
    cdn_peak: int
    """The most requests in flight at an address that many hosts share."""
    ip_peak: int
    """The same for all other addresses."""


def web_spec(plan: PolitenessPlan) -> WebSpec:
    """Small pages on many hosts, so that clocks and not the machine limit the crawl; trouble where manners count."""
    hosts = max(40, plan.requests // _REQUESTS_PER_HOST)
    manners = ("retry-seconds-429", "retry-date-429", "retry-seconds-503", "retry-date-503", "recovers-retry-after")
    trouble = (
        "reset",
        "reset-reused",
        "close-early",
        "truncated",
        "status-500",
        "recovers-1",
        "recovers-5",
        "slow-start",
    )
    ways = ("redirect-301", "redirect-chain", "redirect-loop", "redirect-self", "redirect-host", "chunked", "http10")
    return WebSpec(
        seed=plan.seed,
        hosts=hosts,
        pages=_PAGES,
        page_bytes=4_000,
        links=30,
        external=0.15,
        https=0.1,
        http10=0.03,
        latency_ms=20,
        codings=(),
        shared=0.2,
        cdn=0.1,
        several=0.05,
        exhibits=dict.fromkeys(manners, 0.01) | dict.fromkeys((*trouble, *ways), 0.005),
        robots=dict.fromkeys(VARIANTS, 0.5 / len(VARIANTS)),
        trouble={
            "connect-reset": 0.01,
            "dns-servfail": 0.01,
            "dns-changing": 0.01,
            "dns-cname": 0.01,
            "tls-expired": 0.01,
        },
    )


def experiment(plan: PolitenessPlan, folder: Path, show: Callable[[str], None]) -> PolitenessResult:
    """Serve, crawl, kill, resume, judge. StageError when the crawl cannot be run."""
    began = time.monotonic()
    with staged(web_spec(plan), folder) as stage:
        seeds = stage.web.seed_urls(_SEEDS)
        kills, ended = _crawl(stage, seeds, plan, show)
        seconds = time.monotonic() - began
        web = stage.web
    show("reading the log")
    exchanges = access_log(folder)
    show(f"judging {len(exchanges):,} requests")
    found = judge(exchanges, web, with_delay(plan.delay_s), seeds=seeds, kills=kills)
    return _outcome(exchanges, found, seconds, len(kills), ended)


def _crawl(
    stage: Stage, seeds: Sequence[str], plan: PolitenessPlan, show: Callable[[str], None]
) -> tuple[list[float], str]:
    """Returns when the crawl was killed, and why it is over."""
    into = stage.folder / "crawl"
    dice = random.Random(plan.seed)  # noqa: S311 - moments, not secrets
    moments = sorted(dice.randrange(plan.requests // 20, plan.requests) for _ in range(plan.kills))
    deadline = time.monotonic() + plan.max_s
    kills: list[float] = []
    command = crawl_command(stage.running, seeds, into, plan.delay_s, plan.connections)
    for moment in (*moments, plan.requests):
        with stage.crawling(command) as crawl:
            ended = _watch(stage, crawl, moment, deadline, show)
            if ended or moment == plan.requests:
                _check(stage, stage.stop(crawl))
                return kills, ended or "requests"
            crawl.kill()
            crawl.wait()
        time.sleep(_SETTLE_S)
        kills.append(time.time())
        show(f"killed after {stage.requests():,} requests")
        command = resume_command(into)
    raise AssertionError("the last moment is that of the end")


def _watch(
    stage: Stage, crawl: "subprocess.Popen[bytes]", until: int, deadline: float, show: Callable[[str], None]
) -> str:
    """Wait for a number of requests; empty when it is reached, else why it is not."""
    while (count := stage.requests()) < until:
        show(f"{count:,} requests")
        if crawl.poll() is not None:
            return "done"
        if time.monotonic() > deadline:
            return "time"
        time.sleep(_LOOK_S)
    return ""


def _check(stage: Stage, code: int) -> None:
    if code not in (0, _STOPPED):
        raise StageError(f"the crawl failed with exit code {code}; {stage.last_words()}")


def _outcome(
    exchanges: list[LoggedExchange], found: list[Violation], seconds: float, kills: int, ended: str
) -> PolitenessResult:
    counts = Counter(violation.rule for violation in found)
    served = Counter(e.served for e in exchanges)
    peaks = busiest(exchanges)
    return PolitenessResult(
        requests=len(exchanges),
        pages=served["page"],
        robots=served["robots"],
        hosts=len({e.host for e in exchanges}),
        seconds=seconds,
        kills=kills,
        ended=ended,
        violations={rule: counts[rule] for rule in RULES},
        examples=_examples(found),
        cdn_peak=max((n for address, n in peaks.items() if address.startswith(_CROWDED)), default=0),
        ip_peak=max((n for address, n in peaks.items() if not address.startswith(_CROWDED)), default=0),
    )


def _examples(found: list[Violation]) -> list[Violation]:
    return [v for rule in RULES for v in [v for v in found if v.rule == rule][:_EXAMPLES]]
