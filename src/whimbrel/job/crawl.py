"""From a crawl's options to a running job, with numbers to watch."""

import asyncio
import signal
import time
from contextlib import nullcontext
from pathlib import Path
from threading import current_thread, main_thread
from typing import Final

import msgspec

from whimbrel.archive.cdxj import index_path
from whimbrel.commit.committed import Committed, NotACrawl, read_committed
from whimbrel.commit.crash import Crash
from whimbrel.commit.upgrade import OLD, upgrade
from whimbrel.error import UsageError
from whimbrel.flow import Job, Plan, Registry, Report, Timeouts, check
from whimbrel.handle.rule import HandlerRules
from whimbrel.job.crawl_limit import limit_reached, limit_that_ended
from whimbrel.job.crawl_wiring import configured, seeds
from whimbrel.job.file_limit import allow_files
from whimbrel.job.handling import handler_providers, rules_of
from whimbrel.job.live_crawl import Attend, LiveCrawl, Say, Show
from whimbrel.job.options import JOB_FILE, OptionError, ResolvedOptions
from whimbrel.job.parts import registry
from whimbrel.job.progress import RunResult, final
from whimbrel.job.stop import StopRequest
from whimbrel.job.stored import keep_job, stored_job

_PROGRESS_S: Final = 0.25


class CrawlError(UsageError):
    """A crawl that cannot begin; the message says why and what to do."""


def plan_of(given: ResolvedOptions, directory: Path, rules: HandlerRules | None = None) -> tuple[Plan, Registry]:
    """The checked wiring of a crawl; every mistake in the options shows here, before anything is touched."""
    options = given.options
    if not seeds(options):
        raise OptionError("there is no seed; name a URL, or a file of URLs with --seeds")
    if options.mode == "broad" and not options.contact:
        raise OptionError("a broad crawl needs --contact: a URL or mail address for those whose sites are visited")
    found = registry(*map(Path, options.with_files))
    plan = check(configured(options, directory, found, rules), found)
    allow_files(plan)
    return plan, found


def crawl(
    given: ResolvedOptions,
    directory: Path,
    show: Show,
    say: Say,
    stop: StopRequest | None = None,
    rules: HandlerRules | None = None,
    attend: Attend | None = None,
) -> RunResult:
    """Begin a crawl into an empty directory and run it to its end.

    `show` is called a few times a second, `say` when there is something to tell. `stop` stops it in good order, a
    second time at once; and so do SIGINT and SIGTERM in the main thread. `attend` is entered when the crawl begins and
    left when it ends: it may watch and steer it.
    """
    plan, found = plan_of(given, directory, rules)
    check_empty(directory)
    directory.mkdir(parents=True, exist_ok=True)
    keep_job(directory, given)
    with handler_providers(rules_of(found, rules)) as ready:
        job = Job(plan, found, providers=ready, timeouts=TIMEOUTS)
        running = LiveCrawl(given, given, job, directory, found, rules, show, say)
        return _run(running, stop or StopRequest(), attend)


def resume(
    given: ResolvedOptions,
    directory: Path,
    show: Show,
    say: Say,
    stop: StopRequest | None = None,
    rules: HandlerRules | None = None,
    attend: Attend | None = None,
) -> RunResult:
    """Go on with the crawl in a directory, wherever and however it ended."""
    if not any((directory / name).is_dir() for name in ("state", OLD)) and not (directory / JOB_FILE).is_file():
        raise NotACrawl(f"{directory} holds no crawl; begin one with `whimbrel crawl SEED --into {directory}`")
    finished = _finished(directory)
    if finished is not None:
        upgrade_state(given, directory, say)
        say(f"{directory} is done: nothing is left to do")
        return RunResult(report=Report("done"), progress=final(finished), committed=finished)
    plan, found = plan_of(given, directory, rules)
    known = rules_of(found, rules)
    if given.options.handlers and not known:
        raise CrawlError(
            f"{directory} was crawled by a program with handlers ({', '.join(given.options.handlers)}); go on in that "
            "program with run(…, resume=True), or name its file: whimbrel resume --with FILE.py"
        )
    _check_lasting(given, plan, directory)
    upgrade_state(given, directory, say)
    with handler_providers(known) as ready:
        kept = stored_job(directory) if (directory / JOB_FILE).is_file() else given
        job = Job(plan, found, providers=ready, timeouts=TIMEOUTS)
        running = LiveCrawl(given, kept, job, directory, found, rules, show, say)
        return _run(running, stop or StopRequest(), attend)


def upgrade_state(given: ResolvedOptions, directory: Path, say: Say) -> None:
    """Bring the state of an earlier version to the present format; nothing happens to any other."""
    settings = given.options.set
    mode = settings.get("frontier", {}).get("mode", given.options.mode)
    crash = Crash(settings.get("journal", {}).get("crash_at", ""))
    upgrade(directory, by_domain=mode == "broad", say=say, crash=crash)


def _check_lasting(given: ResolvedOptions, plan: Plan, directory: Path) -> None:
    """CrawlError for a change of what the files of the crawl depend on."""
    if not (directory / JOB_FILE).is_file():
        return
    stored = stored_job(directory)
    # The user's files may have been moved: those count that are named now.
    named = {key: getattr(given.options, key) for key in ("with_files", "wiring")}
    kept, _ = plan_of(ResolvedOptions(msgspec.structs.replace(stored.options, **named), stored.origins), directory)
    before, after = {**kept.providers, **kept.components}, {**plan.providers, **plan.components}
    for name in before.keys() & after.keys():
        kind, config = after[name]
        for key in sorted(kind.lasting & before[name][0].lasting):
            old, new = getattr(before[name][1], key), getattr(config, key)
            if old != new:
                raise CrawlError(
                    f"{name}.{key} was {old!r} when the crawl began and cannot become {new!r}: what is in {directory} "
                    "depends on it. Leave it as it is, or begin another crawl"
                )


def _finished(directory: Path) -> Committed | None:
    """The last commit of a crawl with nothing to do, not even to tidy up."""
    last = _last(directory)
    tails = any(name.startswith("facts/tail-") for name in last.files)
    indexed = all(index_path(directory / name).exists() for name in last.archive())
    # A power failure may bring files back that had been deleted.
    present = {f"facts/{path.name}" for path in (directory / "facts").glob("*")}
    return last if last.state == "done" and not tails and indexed and present <= {*last.parquet} else None


def check_empty(directory: Path) -> None:
    """CrawlError unless a result can go there without touching anything."""
    if not directory.exists():
        return
    if directory.is_dir() and (directory / JOB_FILE).exists():
        raise CrawlError(f"{directory} holds a crawl; go on with `whimbrel resume {directory}`")
    if not directory.is_dir() or any(directory.iterdir()):
        raise CrawlError(f"{directory} is not an empty directory; choose another with --into")


def _run(running: LiveCrawl, stop: StopRequest, attend: Attend | None) -> RunResult:
    import uvloop

    return uvloop.run(_crawl(running, stop, attend))


TIMEOUTS: Final = Timeouts(open_s=120.0, drain_s=120.0, close_s=600.0, change_s=600.0)


async def _crawl(running: LiveCrawl, stop: StopRequest, attend: Attend | None) -> RunResult:
    job, directory = running.job, running.directory

    stop.attach(job, running.say)
    if current_thread() is main_thread():
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, stop.ask)
    began_s, before = time.monotonic(), _last(directory).counters.visits
    watcher = asyncio.create_task(_watch(running))
    try:
        async with nullcontext() if attend is None else attend(running):
            report = await job.run()
    finally:
        stop.detach()
        watcher.cancel()
    committed = _last(directory)
    progress = final(committed, time.monotonic() - began_s, before)
    running.show(progress)
    # A frontier that was never opened has counted nothing.
    limit = "" if report.state == "failed" else limit_that_ended(running.given, job, progress)
    return RunResult(report=report, progress=progress, committed=committed, limit=limit)


def _last(directory: Path) -> Committed:
    try:
        return read_committed(directory)
    except NotACrawl:
        return Committed()


async def _watch(running: LiveCrawl) -> None:
    """Show progress, tell of trouble, and stop at the limits on time and bytes."""
    trouble = ""
    while True:
        await asyncio.sleep(_PROGRESS_S)
        progress = running.progress()
        if progress is None:
            continue
        running.show(progress)
        if progress.trouble != trouble:
            trouble = progress.trouble
            running.say(_advice(trouble, running.directory) if trouble else "the disk takes data again: going on")
        reached = limit_reached(running.given, progress)
        if reached and running.job.state == "running":
            running.say(f"stopping: {reached} is reached")
            running.job.stop()


def _advice(trouble: str, directory: Path) -> str:
    return (
        f"paused: {directory} cannot be written to ({trouble}). Nothing is lost. Make room there and the crawl goes "
        "on by itself; or stop it and move the directory, then `whimbrel resume` it"
    )
