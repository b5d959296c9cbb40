"""How near a crawl of very many slow hosts comes to the ideal: all of them busy all the time."""

import subprocess
from pathlib import Path
from typing import Final

import msgspec

from whimbrel.bench.politeness.stage import Stage, StageError, access_log, children_cpu_s, crawl_command, staged
from whimbrel.simweb.server.log import LoggedExchange
from whimbrel.simweb.spec import WebSpec

_PAGE_BYTES: Final = 4_000
_EDGE: Final = 10
"""The steady part of a crawl is what lies between the first and the last tenth of its pages."""


class WidePlan(msgspec.Struct, frozen=True, kw_only=True):
    hosts: int = 2_000
    pages: int = 20
    """Of each host."""
    latency_ms: int = 1_000
    connections: int = 2_000
    max_s: float = 600.0


class WideResult(msgspec.Struct, frozen=True, kw_only=True):
    """`share` is of the ideal: hosts ÷ latency. Rates come from the log, CPU time is of all the crawl's processes."""

    hosts: int
    pages: int
    seconds: float
    """From the first request to the last answer, robots.txt included."""
    pages_per_s: float
    share: float
    steady_pages_per_s: float
    steady_share: float
    cpu_ms_per_page: float
    peak_in_flight: int


def web_spec(plan: WidePlan) -> WebSpec:
    """Every host alone at its address, with the same latency; no link leaves its site, as every root is a seed."""
    return WebSpec(
        hosts=plan.hosts,
        pages=plan.pages,
        page_bytes=_PAGE_BYTES,
        links=9,
        external=0.0,
        latency_ms=plan.latency_ms,
        latency_spread=False,
        shared=0.0,
        cdn=0.0,
        several=0.0,
        codings=(),
        robots={},
    )


def measure(plan: WidePlan, folder: Path) -> WideResult:
    """StageError when the crawl cannot be run or does not end."""
    before_s = children_cpu_s()
    with staged(web_spec(plan), folder) as stage:
        seeds = stage.web.seed_urls(plan.hosts)
        command = crawl_command(stage.running, seeds, folder / "crawl", 0.0, plan.connections)
        with stage.crawling(command) as crawl:
            _await(stage, crawl, plan.max_s)
        # The server still runs, so this is the crawl alone.
        cpu_s = children_cpu_s() - before_s
    return outcome(access_log(folder), plan, cpu_s)


def _await(stage: Stage, crawl: "subprocess.Popen[bytes]", max_s: float) -> None:
    try:
        code = crawl.wait(max_s)
    except subprocess.TimeoutExpired:
        raise StageError(f"the crawl did not end within {max_s:.0f} s; {stage.last_words()}") from None
    if code != 0:
        raise StageError(f"the crawl failed with exit code {code}; {stage.last_words()}")


def outcome(exchanges: list[LoggedExchange], plan: WidePlan, cpu_s: float) -> WideResult:
    """The figures that a log and the crawl's CPU time give."""
    ends = sorted(e.end for e in exchanges if e.served == "page" and e.status == 200)
    if len(ends) < 2 * _EDGE:
        raise StageError(f"the crawl brought {len(ends)} pages, too few to measure")
    ideal = plan.hosts / (plan.latency_ms / 1_000)
    seconds = ends[-1] - min(e.start for e in exchanges)
    edge = len(ends) // _EDGE
    steady = (len(ends) - 2 * edge) / (ends[-edge - 1] - ends[edge])
    rate = len(ends) / seconds
    return WideResult(
        hosts=plan.hosts,
        pages=len(ends),
        seconds=seconds,
        pages_per_s=rate,
        share=rate / ideal,
        steady_pages_per_s=steady,
        steady_share=steady / ideal,
        cpu_ms_per_page=cpu_s / len(ends) * 1_000,
        peak_in_flight=peak_in_flight(exchanges),
    )


def peak_in_flight(exchanges: list[LoggedExchange]) -> int:
    """The most requests that were in flight at once, at all addresses together."""
    changes = [(e.start, 1) for e in exchanges] + [(e.end, -1) for e in exchanges]
    now = most = 0
    for _, change in sorted(changes):
        now += change
        most = max(most, now)
    return most
