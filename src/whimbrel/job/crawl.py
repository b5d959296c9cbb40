"""From a crawl's options to a running job, with numbers to watch."""

import asyncio
import signal
import time
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from threading import current_thread, main_thread
from typing import Any, Final

from whimbrel.commit.committed import Committed, NotACrawl, read_committed
from whimbrel.error import Busy, UsageError
from whimbrel.flow import Job, Plan, Registry, Timeouts, check
from whimbrel.handle.rule import HandlerRules
from whimbrel.job.cookie_file import check_cookie_file
from whimbrel.job.crawl_limit import limit_reached, limit_that_ended
from whimbrel.job.crawl_wiring import configured
from whimbrel.job.file_limit import allow_files
from whimbrel.job.handling import handler_providers, rules_of
from whimbrel.job.live_crawl import Attend, LiveCrawl, Say, Show
from whimbrel.job.login import credential_note
from whimbrel.job.options import JOB_FILE, CrawlOptions, OptionError, ResolvedOptions
from whimbrel.job.part_name import ROUTER, planned
from whimbrel.job.parts import registry
from whimbrel.job.progress import final
from whimbrel.job.run_result import RunResult
from whimbrel.job.seed import require_seed
from whimbrel.job.stop import StopRequest
from whimbrel.job.stored import keep_job
from whimbrel.shortage import Shortage
from whimbrel.state.lock import check_unlocked
from whimbrel.state.rocks import RocksState
from whimbrel.url import FilterRules, Filters

_PROGRESS_S: Final = 0.25


class CrawlError(UsageError):
    """A crawl that cannot begin; the message says why and what to do."""


def plan_of(given: ResolvedOptions, directory: Path, rules: HandlerRules | None = None) -> tuple[Plan, Registry]:
    """The checked wiring of a crawl; every mistake in the options shows here, before anything is touched."""
    found = registry(*map(Path, given.options.with_files))
    check_cookie_file(given.options.cookies)
    plan = checked_plan(given.options, directory, found, rules)
    allow_files(plan)
    return plan, found


def checked_plan(options: CrawlOptions, directory: Path, found: Registry, rules: HandlerRules | None = None) -> Plan:
    """The same, with a registry that has the user's files already."""
    require_seed(options)
    if options.mode == "broad" and not options.contact:
        raise OptionError("a broad crawl needs --contact: a URL or mail address for those whose sites are visited")
    plan = check(configured(options, directory, found, rules), found)
    _check_patterns(plan)
    return plan


def _check_patterns(plan: Plan) -> None:
    """OptionError for regular expressions that cannot be used, or without the library for them."""
    config = planned(plan, ROUTER)[1]
    rules = {key: getattr(config, key, ()) for key in ("include_patterns", "exclude_patterns")}
    try:
        Filters(FilterRules(**rules))
    except ValueError as error:
        raise OptionError(str(error)) from error


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
    tell_of_credentials(given, say)
    with handler_providers(rules_of(found, rules)) as ready:
        job = Job(plan, found, providers=ready, timeouts=TIMEOUTS)
        running = LiveCrawl(given, given, job, directory, found, rules, show, say)
        return run(running, stop or StopRequest(), attend)


def tell_of_credentials(given: ResolvedOptions, say: Say) -> None:
    """To whom secret headers go, if there are any."""
    if note := credential_note(given.options):
        say(note)


def check_empty(directory: Path) -> None:
    """CrawlError unless a result can go there without touching anything; Busy when a crawl works there."""
    if not directory.exists():
        return
    check_free(directory)
    if directory.is_dir() and (directory / JOB_FILE).exists():
        raise CrawlError(
            f"{directory} holds a crawl; go on with `whimbrel resume {directory}`, in Python with run(…, resume=True)"
        )
    # What a start that failed may have left is no reason: nothing had begun.
    if not directory.is_dir() or any(path.name != f"{JOB_FILE}.tmp" for path in directory.iterdir()):
        raise CrawlError(f"{directory} is not an empty directory; choose another with --into")


def check_free(directory: Path) -> None:
    """Busy when a crawl works on what is there, in this process or in another one. Nothing happens to that crawl."""
    check_unlocked(directory, directory / RocksState.folder)


def run(running: LiveCrawl, stop: StopRequest, attend: Attend | None) -> RunResult:
    """Run a crawl that is wired to its end. Busy when another process has taken its state meanwhile."""
    import uvloop

    result = uvloop.run(_crawl(running, stop, attend))
    for failure in result.report.failures:
        if isinstance(failure.error, Busy):
            raise failure.error
    return result


TIMEOUTS: Final = Timeouts(open_s=120.0, drain_s=120.0, close_s=600.0, change_s=600.0)


async def _crawl(running: LiveCrawl, stop: StopRequest, attend: Attend | None) -> RunResult:
    job, directory = running.job, running.directory

    stop.attach(job, running.say)
    asyncio.get_running_loop().set_exception_handler(partial(_callback_failed, running))
    if current_thread() is main_thread():
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, stop.ask)
    began_s, before = time.monotonic(), last_commit(directory).counters
    began_at_s = time.time()
    watcher = asyncio.create_task(_watch(running))
    try:
        async with nullcontext() if attend is None else attend(running):
            report = await job.run()
    finally:
        stop.detach()
        watcher.cancel()
    committed = last_commit(directory)
    progress = final(committed, time.monotonic() - began_s, before.visits)
    running.show(progress)
    # A frontier that was never opened has counted nothing.
    limit = "" if report.state == "failed" else limit_that_ended(job, running.stopped_by)
    return RunResult(
        report=report,
        progress=progress,
        committed=committed,
        limit=limit,
        block=running.given.options.block,
        handled=_risen(progress.handled, before.handled),
        began_at_s=began_at_s,
    )


def _callback_failed(running: LiveCrawl, _loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Nobody waits for a callback, so nobody would miss what it was to do: the next commit, the end of a visit. The
    crawl ends rather than go on without. Connections of the control interface and tasks have owners of their own."""
    error, message = context.get("exception"), str(context.get("message", "")).partition(" <")[0]
    running.say(f"{message}: {type(error).__name__}: {error}" if error is not None else message)
    if error is not None and not {"transport", "protocol", "task", "future"} & context.keys():
        running.job.fail("event loop", error)


def _risen(now: dict[str, int], before: dict[str, int]) -> dict[str, int]:
    risen = {name: count - before.get(name, 0) for name, count in now.items()}
    return {name: count for name, count in risen.items() if count}


def last_commit(directory: Path) -> Committed:
    """An empty one before the first."""
    try:
        return read_committed(directory)
    except NotACrawl:
        return Committed()


async def _watch(running: LiveCrawl) -> None:
    """Show progress, tell of trouble, and stop at the limits on time and bytes."""
    lacked = ""
    while True:
        await asyncio.sleep(_PROGRESS_S)
        progress = running.progress()
        if progress is None:
            continue
        running.show(progress)
        if progress.lacks != lacked:
            shortage, before, lacked = running.journal.shortage, lacked, progress.lacks
            running.say(_over(before) if shortage is None else _advice(shortage, running.directory))
        reached = limit_reached(running.given, progress)
        if reached and running.job.state == "running":
            running.say(f"stopping: {reached} is reached")
            running.stopped_by = reached
            running.job.stop()


def _advice(shortage: Shortage, directory: Path) -> str:
    return f"paused: {shortage.explain(directory)}. Nothing is lost. {shortage.remedy}"


def _over(resource: str) -> str:
    """A shortage has ended."""
    if resource in ("disk", "directory"):
        return "the disk takes data again: going on"
    return f"this machine has {resource.replace('-', ' ')} again: going on"
