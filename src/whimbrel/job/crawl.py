"""From a crawl's options to a running job, with numbers to watch."""

import asyncio
import json
import signal
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, Literal, cast

import msgspec

from whimbrel.archive.api import Archive
from whimbrel.flow import Job, Plan, Registry, Report, check
from whimbrel.flow.wiring import Wiring
from whimbrel.frontier.api import Frontier
from whimbrel.frontier.distributor import Distributor
from whimbrel.job.parts import registry, wiring

_PROGRESS_S: Final = 0.25


class CrawlError(Exception):
    """A crawl that cannot begin; the message says why and what to do."""


class CrawlOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What the command line offers; the same names."""

    seeds: tuple[str, ...]
    into: Path
    scope: Literal["host", "any"] = "host"
    max_pages: int | None = None
    max_depth: int = 20
    delay_s: float = 1.0
    connections: int = 32
    user_agent: str = "whimbrel"
    resolver: str = ""
    ca: str = ""
    allow_networks: tuple[str, ...] = ()
    with_files: tuple[Path, ...] = ()
    wiring: str = "standalone"
    """A wiring that Whimbrel ships, or a file, with the parts of `standalone` under the same names."""


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """The crawl at one moment."""

    elapsed_s: float
    visited: int
    queued: int
    visiting: int
    bytes: int
    outcomes: dict[str, int]
    reasons: dict[str, int]
    connectors: dict[str, tuple[int, int]]
    """For each queue: items in it and its capacity."""

    @property
    def pages_per_s(self) -> float:
        return self.visited / self.elapsed_s if self.elapsed_s else 0.0


class Result(msgspec.Struct, frozen=True, kw_only=True):
    report: Report
    progress: Progress
    refused: dict[str, int]
    """Links that were not queued, by reason."""

    @property
    def state(self) -> str:
        """The job's, but a crawl with URLs left has been stopped, be it by a limit."""
        return "stopped" if self.report.state == "done" and self.progress.queued else self.report.state

    @property
    def exit_code(self) -> int:
        """0 done, 1 failed or nothing but failures, 3 stopped with work left."""
        visited = self.progress.visited
        if self.report.exit_code == 0 and visited and self.progress.outcomes.get("failed", 0) == visited:
            return 1
        return 3 if self.report.exit_code == 0 and self.progress.queued else self.report.exit_code


def configured(options: CrawlOptions) -> Wiring:
    """The wiring with a crawl's options in their places."""
    base = wiring(options.wiring)
    for connector in base.connectors:
        if connector.target == "downloader.visits":
            # A visit counts until it is done: this is what bounds the visits under way.
            base = base.adding(replace(connector, capacity=options.connections))
    return (
        base.configuring("distributor", seeds=options.seeds, scope=options.scope, max_depth=options.max_depth)
        .configuring("frontier", delay_s=options.delay_s, max_pages=options.max_pages)
        .configuring("downloader", connections=options.connections)
        .configuring("resolver", server=options.resolver)
        .configuring("archive", directory=str(options.into))
        .configuring("transport", user_agent=options.user_agent, ca=options.ca, allow_networks=options.allow_networks)
    )


def crawl(options: CrawlOptions, show: Callable[[Progress], None], say: Callable[[str], None]) -> Result:
    """Run a crawl to its end. `show` is called a few times a second, `say` when there is something to tell.

    SIGINT and SIGTERM stop it in good order, a second one at once.
    """
    if not options.allow_networks:
        raise CrawlError(
            "no network may be crawled: this version does not honour robots.txt yet and goes to loopback only; "
            "name it with --allow-network 127.0.0.0/8"
        )
    found = registry(*options.with_files)
    plan = check(configured(options), found)
    check_empty(options.into)
    options.into.mkdir(parents=True, exist_ok=True)
    result = _run(_crawl(plan, found, show, say))
    _write_summary(options, result)
    return result


def check_empty(directory: Path) -> None:
    """CrawlError unless a result can go there without touching anything."""
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        raise CrawlError(f"{directory} is not an empty directory; choose another with --into")


def _run(main: Any) -> Result:
    import uvloop

    return cast("Result", uvloop.run(main))


async def _crawl(plan: Plan, found: Registry, show: Callable[[Progress], None], say: Callable[[str], None]) -> Result:
    job = Job(plan, found)

    def interrupted() -> None:
        if job.state == "draining":
            job.abort("interrupted twice")
        else:
            say("stopping: waiting for the visits under way; interrupt again to end now")
            job.stop()

    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, interrupted)
    began = time.monotonic()
    watcher = asyncio.create_task(_watch(job, began, show))
    try:
        report = await job.run()
    finally:
        watcher.cancel()
    final = progress(job, began)
    show(final)
    distributor = cast("Distributor", job.graph.instances["distributor"][0].component)
    return Result(report=report, progress=final, refused=dict(distributor.refused))


async def _watch(job: Job, began: float, show: Callable[[Progress], None]) -> None:
    while True:
        await asyncio.sleep(_PROGRESS_S)
        show(progress(job, began))


def progress(job: Job, began: float) -> Progress:
    frontier = cast("Frontier", job.graph.providers["frontier"])
    tally = cast("Archive", job.graph.providers["archive"]).tally()
    return Progress(
        elapsed_s=time.monotonic() - began,
        visited=tally.visited,
        queued=frontier.queued,
        visiting=frontier.visiting,
        bytes=tally.bytes,
        outcomes=tally.outcomes,
        reasons=tally.reasons,
        connectors={name: (q.queued + q.unacknowledged, q.capacity) for name, q in job.graph.queues.items()},
    )


def _write_summary(options: CrawlOptions, result: Result) -> None:
    summary = {
        "seeds": list(options.seeds),
        "state": result.state,
        "failures": [f"{f.component} failed in {f.phase}: {f.reason}" for f in result.report.failures],
        "visited": result.progress.visited,
        "outcomes": result.progress.outcomes,
        "reasons": result.progress.reasons,
        "links_refused": result.refused,
        "left_in_connectors": result.report.left,
        "queued": result.progress.queued,
        "bytes": result.progress.bytes,
        "elapsed_s": round(result.progress.elapsed_s, 3),
    }
    (options.into / "summary.json").write_text(json.dumps(summary, indent=2) + "\n", encoding="utf-8")
