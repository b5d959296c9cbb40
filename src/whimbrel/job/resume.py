"""Goes on with a crawl: whether anything is left to do, and whether its files allow what is asked for now."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from whimbrel.archive.cdxj import index_path
from whimbrel.commit.committed import Committed, NotACrawl
from whimbrel.commit.crash import Crash
from whimbrel.commit.upgrade import OLD, upgrade
from whimbrel.commit.verify_state import check_state
from whimbrel.effect.seeding import Requeued, Seeding
from whimbrel.flow import Job, Plan, Report
from whimbrel.handle.rule import HandlerRules
from whimbrel.job.crawl import (
    TIMEOUTS,
    CrawlError,
    check_free,
    checked_plan,
    last_commit,
    plan_of,
    run,
    tell_of_credentials,
)
from whimbrel.job.handling import handler_providers, rules_of
from whimbrel.job.live_crawl import Attend, LiveCrawl, Say, Show
from whimbrel.job.options import JOB_FILE, ResolvedOptions
from whimbrel.job.part_name import SEEDING, planned
from whimbrel.job.progress import final
from whimbrel.job.run_result import RunResult
from whimbrel.job.stop import StopRequest
from whimbrel.job.stored import protect, stored_job


def resume(  # noqa: PLR0913 - what `crawl` takes, and one more
    given: ResolvedOptions,
    directory: Path,
    show: Show,
    say: Say,
    stop: StopRequest | None = None,
    rules: HandlerRules | None = None,
    attend: Attend | None = None,
    *,
    again: Sequence[Requeued] = (),
) -> RunResult:
    """Go on with the crawl in a directory, wherever and however it ended. Busy when it runs. `again`: URLs that ended
    without a page and are visited once more."""
    check_free(directory)
    has_job = (directory / JOB_FILE).is_file()
    if not has_job and not any((directory / name).is_dir() for name in ("state", OLD)):
        raise NotACrawl(f"{directory} holds no crawl; begin one with `whimbrel crawl SEED --into {directory}`")
    protect(directory)
    finished = _finished(directory)
    if finished is not None and not again:
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
    kept = stored_job(directory) if has_job else given
    # The user's files may have been moved: those count that are named now.
    named = {key: getattr(given.options, key) for key in ("with_files", "wiring")}
    before = checked_plan(msgspec.structs.replace(kept.options, **named), directory, found)
    _check_lasting(before, plan, directory)
    upgrade_state(given, directory, say)
    check_state(directory)
    tell_of_credentials(given, say)
    with handler_providers(known) as ready:
        begun = {SEEDING: Seeding(again=again)} if planned(plan, SEEDING)[0] is Seeding else {}
        job = Job(plan, found, providers={**ready, **begun}, timeouts=TIMEOUTS)
        running = LiveCrawl(given, kept, job, directory, found, rules, show, say)
        return run(running, stop or StopRequest(), attend)


def upgrade_state(given: ResolvedOptions, directory: Path, say: Say) -> None:
    """Bring the state of an earlier version to the present format; nothing happens to any other."""
    settings = given.options.set
    mode = settings.get("frontier", {}).get("mode", given.options.mode)
    crash = Crash(settings.get("journal", {}).get("crash_at", ""))
    upgrade(directory, by_domain=mode == "broad", say=say, crash=crash)


def _check_lasting(stored: Plan, now: Plan, directory: Path) -> None:
    """CrawlError for a change of what the files of the crawl depend on."""
    before, after = {**stored.providers, **stored.components}, {**now.providers, **now.components}
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
    last = last_commit(directory)
    tails = any(name.startswith("facts/tail-") for name in last.files)
    indexed = all(index_path(directory / name).exists() for name in last.archive())
    # A power failure may bring files back that had been deleted.
    present = {f"facts/{path.name}" for path in (directory / "facts").glob("*")}
    return last if last.state == "done" and not tails and indexed and present <= {*last.parquet} else None
