"""A crawl's directory made from WARC files, whoever wrote them: all that works on a crawl works on them then.

It is a job of the wiring `import.toml`. Each response is read as if it had just been fetched, and kept in an archive of
ours. What a crawl knows beside, depth and source, comes from metadata records where there are any. Revisits have no
payload of their own: a first pass notes which payloads they mean, a second where those stand, and they are read from
there, whichever comes first; a revisit stays a revisit. A resource is read as a page, too, but stays a resource: there
was no HTTP, and its status is 0. Conversions, metadata of their own, resources that are not of http or https, and
revisits of payloads that are nowhere go to the archive and make no rows. Records keep their ids, so that what refers to
them still does. Each commit says how many records it has taken, so that an import that was interrupted goes on behind
them.
"""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec
import uvloop

from whimbrel.commit import import_list
from whimbrel.commit.committed import IMPORT_LIST, NotACrawl, read_committed
from whimbrel.commit.counters import Counters
from whimbrel.commit.crash import Crash
from whimbrel.commit.import_list import ImportedFile
from whimbrel.commit.journal import Journal
from whimbrel.commit.upgrade import upgrade
from whimbrel.commit.verify_state import check_state
from whimbrel.error import WhimbrelError
from whimbrel.flow import Job, Plan, Registry, Report, check
from whimbrel.job.crawl import TIMEOUTS, CrawlError, check_empty
from whimbrel.job.part_name import JOURNAL, provider
from whimbrel.job.parts import registry, wiring
from whimbrel.job.stored import write_whole
from whimbrel.offline.foreign_warc import Unreadable, referenced
from whimbrel.outcome import CONTENT

_SHOW_S: Final = 0.25


class ImportFailed(WhimbrelError):
    """A file that cannot be read; the message names it."""


class Imported(msgspec.Struct):
    """How much was taken over, by all runs of one import."""

    files: int = 0
    """Read to the end; 0 while the import runs."""
    captures: int = 0
    pages: int = 0
    passed_over: int = 0
    """Responses and revisits that are not from http or https, have no head, or cannot be read. The rest of a file that
    is damaged or was cut off counts as one."""


def import_warcs(files: list[Path], directory: Path, show: Callable[[Imported], None] = lambda _: None) -> Imported:
    """Into a directory that is empty or not there, or where an import of the same files was interrupted. ImportFailed
    for a file that is no WARC; CrawlError when something is in the way."""
    for file in files:
        if not file.is_file():
            raise ImportFailed(f"{file} is not a file")
    listed = [ImportedFile(str(file.resolve()), file.stat().st_size) for file in files]
    begun = directory / IMPORT_LIST
    if begun.exists():
        _check_same(listed, directory)
    else:
        check_empty(directory)
    known = registry()
    try:
        plan = _plan(files, directory, known)
    except Unreadable as error:
        raise ImportFailed(str(error)) from error
    directory.mkdir(parents=True, exist_ok=True)
    upgrade(directory, by_domain=False, say=lambda _: None, crash=Crash(""))
    check_state(directory)
    write_whole(begun, import_list.encode(listed))
    return uvloop.run(_run(Job(plan, known, timeouts=TIMEOUTS), len(files), show))


def _check_same(listed: list[ImportedFile], directory: Path) -> None:
    """CrawlError unless what was begun there is this, and not at its end."""
    try:
        if read_committed(directory).state == "done":
            raise CrawlError(f"{directory} holds an import that is done; choose another with --into")
    except NotACrawl:
        pass  # It was interrupted before its first commit.
    found = (directory / IMPORT_LIST).read_bytes()
    if import_list.list_problem(found):
        raise ImportFailed(
            f"{directory / IMPORT_LIST} is damaged: it does not say any more which files the import was begun with. If "
            "they are the ones that you name, empty that file and import them again; nothing was changed"
        )
    if not import_list.is_of(listed, found):
        raise CrawlError(
            f"an import of other files was begun in {directory}, see {IMPORT_LIST}; name the same ones in the same "
            "order, or choose another directory with --into"
        )


def _plan(files: list[Path], directory: Path, known: Registry) -> Plan:
    """The shipped wiring, for these files and this directory."""
    return check(
        wiring("import")
        .configuring("reader", files=tuple(map(str, files)), referenced=referenced(files))
        .configuring("state", directory=str(directory))
        .configuring("journal", directory=str(directory)),
        known,
    )


async def _run(job: Job, files: int, show: Callable[[Imported], None]) -> Imported:
    journal = provider(job, JOURNAL, Journal)
    watcher = asyncio.create_task(_watch(job, journal, show))
    try:
        report = await job.run()
    finally:
        watcher.cancel()
    _raise_failure(report)
    found = _imported(journal.counters, files)
    show(found)
    return found


async def _watch(job: Job, journal: Journal, show: Callable[[Imported], None]) -> None:
    while True:
        await asyncio.sleep(_SHOW_S)
        if job.state == "running":
            show(_imported(journal.counters))


def _imported(counters: Counters, files: int = 0) -> Imported:
    pages = sum(counters.outcomes.get(one.value, 0) for one in CONTENT)
    return Imported(files, counters.visits + counters.unvisited, pages, counters.passed_over)


def _raise_failure(report: Report) -> None:
    """What ended the import before its end, as it was raised."""
    for failure in report.failures:
        if isinstance(failure.error, Unreadable):
            raise ImportFailed(str(failure.error)) from failure.error
        raise failure.error or ImportFailed(f"{failure.component} failed in {failure.phase}: {failure.reason}")
