"""How a crawl ended, for people and as JSON: what was kept, what was not and why, and what to do next."""

from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from whimbrel.error import Damaged
from whimbrel.job.run_result import RunResult
from whimbrel.query.backlog import backlog
from whimbrel.query.handler_failure import failures_sql, handler_failures
from whimbrel.terminal import counted, printable, size

_NOT_CRAWLED: Final = {
    "denied robots": "robots.txt forbids them",
    "denied blocked": "a pattern of --block",
    "denied robots-unreachable": "robots.txt could not be obtained, which means no",
    "failed dns": "their host has no address; check its name, the network, and --resolver",
    "failed private-address": "their address is private. If it is yours: whimbrel resume {} --allow-network CIDR",
    "failed timeout": "their server did not answer in time",
    "failed tls": "their certificate is not valid",
}

_DAMAGED: Final = (
    "To go on, bring back what is named above from a copy of {0}. What else is damaged:  whimbrel verify {0}"
)
_LOST: Final = "whimbrel query {} \"select subject, detail from events where action = 'value-lost'\""


def summary(directory: Path, result: RunResult) -> dict[str, Any]:
    progress = result.progress
    return {
        "state": result.state,
        "directory": str(directory),
        "visited": progress.visited,
        "queued": progress.queued,
        "hosts": progress.hosts,
        "bytes": progress.bytes,
        "elapsed_s": round(progress.elapsed_s, 3),
        "outcomes": progress.outcomes,
        "reasons": progress.reasons,
        "links_refused": progress.refused,
        "handled": result.handled,
        "handler_failures": _handler_failures(directory, result),
        "values_lost": result.committed.counters.lost_values,
        "failures": result.failures,
        "commit": result.committed.number,
    }


def print_summary(console: Console, directory: Path, result: RunResult) -> None:
    progress, report = result.progress, result.report
    console.print(
        f"[bold]{result.state}[/bold]: {counted(progress.visited, 'visit')} on {counted(progress.hosts, 'host')} in "
        f"{progress.elapsed_s:.1f} s ({progress.pages_per_s:,.0f}/s), {size(progress.bytes)}",
        highlight=False,
    )
    table = Table(box=None, padding=(0, 2), show_header=False)
    for reason, count in sorted(progress.reasons.items(), key=lambda item: -item[1]):
        table.add_row(*reason.split(" ", 1), f"{count:,}")
    for reason, count in sorted(progress.refused.items(), key=lambda item: -item[1]):
        if reason != "seen":
            table.add_row("links not followed", reason, f"{count:,}")
    console.print(table)
    for line in report.lines()[1:]:
        console.print(printable(line), style="red", markup=False)
    for reason, why in _NOT_CRAWLED.items():
        if progress.reasons.get(reason):
            count = progress.reasons[reason]
            line = f"{counted(count, 'URL')} {'was' if count == 1 else 'were'} not crawled: {why.format(directory)}."
            console.print(line, highlight=False, markup=False)
    for line in (*_handler_lines(directory, result), *_lost_lines(directory, result)):
        console.print(printable(line), style="red", highlight=False, markup=False, soft_wrap=True)
    if result.exit_code == 1 and not report.failures and not result.handlers_failed:
        console.print("Nothing was fetched; the reasons above say why.", style="bold red")
    for line in _next_steps(directory, result):
        console.print(line, highlight=False, markup=False)


def _handler_failures(directory: Path, result: RunResult) -> dict[str, int]:
    """What handlers and filters failed with in this run, and on how many pages. Nothing of damaged tables: others tell
    of these."""
    if not result.may_have_handler_failures:
        return {}
    try:
        return handler_failures(directory, result.began_at_s)
    except Damaged:
        return {}


def _lost_lines(directory: Path, result: RunResult) -> list[str]:
    lost = result.committed.counters.lost_values
    if not lost:
        return []
    which = "1 value was" if lost == 1 else f"{lost:,} values were"
    return [f"{which} left out, because no table can hold {'it' if lost == 1 else 'them'}: {_LOST.format(directory)}"]


def _handler_lines(directory: Path, result: RunResult) -> list[str]:
    failures = _handler_failures(directory, result)
    links = result.progress.refused.get("filter-error", 0)
    lines = []
    if result.handlers_failed:
        of = sum(result.handled.values())
        lines.append(
            f"Handlers failed on {result.handlers_failed:,} of {counted(of, 'page')}, which have no items of this run:"
        )
    elif failures:
        lines.append(
            f"A filter failed on {counted(links, 'link')}, which {'is' if links == 1 else 'are'} not followed:"
        )
    lines += [f"  {error} ({counted(pages, 'page')})" for error, pages in failures.items()]
    if lines:
        lines.append(f'Tracebacks:  whimbrel query {directory} "{failures_sql(result.began_at_s)}"')
    return lines


def _next_steps(directory: Path, result: RunResult) -> list[str]:
    lines = []
    if result.damaged:
        lines.append(_DAMAGED.format(directory))
    elif result.progress.queued:
        lines += _backlog(directory, result.block)
        command = f"whimbrel resume {directory}"
        if result.limit:
            option = result.limit.partition(" ")[0]
            lines.append(f"{result.limit} is reached. Raise it to go on:  {command} {option} …")
        else:
            count = result.progress.queued
            lines.append(
                f"{counted(count, 'URL')} {'is' if count == 1 else 'are'} still queued. To continue:  {command}"
            )
    if result.committed.number:
        sql = "select outcome, reason, count(*) from fetches group by all order by 3 desc"
        lines.append(f'Ask it:   whimbrel query {directory} "{sql}"')
        lines.append(
            f"Or:       whimbrel status {directory}   whimbrel why {directory} URL   whimbrel verify {directory}"
        )
    return lines


def _backlog(directory: Path, block: tuple[str, ...]) -> list[str]:
    """Of a crawl whose tables are damaged, that: it failed for it, most likely."""
    try:
        return [printable(line) for line in backlog(directory, block)]
    except Damaged as error:
        return [printable(f"{error}; `whimbrel verify {directory}` looks at all of it")]
