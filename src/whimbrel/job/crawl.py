"""From a crawl's options to a running job, with numbers to watch."""

import asyncio
import json
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, Literal, cast

import msgspec

from whimbrel.archive.memory import MemoryArchive
from whimbrel.flow import Job, Plan, Registry, Report, check
from whimbrel.flow.wiring import Wiring
from whimbrel.frontier.memory import MemoryFrontier
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


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """The crawl at one moment."""

    elapsed_s: float
    visited: int
    queued: int
    visiting: int
    bytes: int
    outcomes: dict[str, int]
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


def configured(options: CrawlOptions) -> Wiring:
    """The standalone wiring with a crawl's options in their places."""
    return (
        wiring("standalone")
        .configuring("distributor", seeds=options.seeds, scope=options.scope, max_depth=options.max_depth)
        .configuring("frontier", delay_s=options.delay_s, max_pages=options.max_pages)
        .configuring("downloader", connections=options.connections)
        .configuring("resolver", server=options.resolver)
        .configuring("archive", directory=str(options.into))
        .configuring("transport", user_agent=options.user_agent, ca=options.ca, allow_networks=options.allow_networks)
    )


def crawl(options: CrawlOptions, show: Callable[[Progress], None]) -> Result:
    """Run a crawl to its end. `show` is called a few times a second. SIGINT and SIGTERM stop it in good order."""
    found = registry(*options.with_files)
    plan = check(configured(options), found)
    if options.into.exists() and any(options.into.iterdir()):
        raise CrawlError(f"{options.into} is not empty; choose another directory with --into")
    options.into.mkdir(parents=True, exist_ok=True)
    result = _run(_crawl(plan, found, show))
    _write_summary(options, result)
    return result


def _run(main: Any) -> Result:
    import uvloop

    return cast("Result", uvloop.run(main))


async def _crawl(plan: Plan, found: Registry, show: Callable[[Progress], None]) -> Result:
    job = Job(plan, found)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, job.stop)
    began = time.monotonic()
    watcher = asyncio.create_task(_watch(job, began, show))
    try:
        report = await job.run()
    finally:
        watcher.cancel()
    final = progress(job, began)
    show(final)
    distributor = cast("Any", job.graph.instances["distributor"][0].component)
    return Result(report=report, progress=final, refused=dict(distributor.refused))


async def _watch(job: Job, began: float, show: Callable[[Progress], None]) -> None:
    while True:
        await asyncio.sleep(_PROGRESS_S)
        show(progress(job, began))


def progress(job: Job, began: float) -> Progress:
    frontier = cast("MemoryFrontier", job.graph.providers["frontier"])
    archive = cast("MemoryArchive", job.graph.providers["archive"])
    return Progress(
        elapsed_s=time.monotonic() - began,
        visited=len(archive.records),
        queued=frontier.queued,
        visiting=frontier.visiting,
        bytes=archive.bytes,
        outcomes=dict(archive.outcomes),
        connectors={name: (q.queued + q.unacknowledged, q.capacity) for name, q in job.graph.queues.items()},
    )


def _write_summary(options: CrawlOptions, result: Result) -> None:
    summary = {
        "seeds": list(options.seeds),
        "state": result.report.state,
        "failures": [f"{f.component} failed in {f.phase}: {f.reason}" for f in result.report.failures],
        "visited": result.progress.visited,
        "outcomes": result.progress.outcomes,
        "links_refused": result.refused,
        "left_in_connectors": result.report.left,
        "queued": result.progress.queued,
        "bytes": result.progress.bytes,
        "elapsed_s": round(result.progress.elapsed_s, 3),
    }
    (options.into / "summary.json").write_text(json.dumps(summary, indent=2) + "\n", encoding="utf-8")
