"""Everything of a crawl compared with the last commit and with itself: state, archive, digests of files, tables."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from whimbrel.archive.verify import Problem
from whimbrel.archive.verify import verify as verify_archive
from whimbrel.commit import import_list
from whimbrel.commit.committed import Committed, NotACrawl, read_committed
from whimbrel.commit.verify import verify_files
from whimbrel.commit.verify_state import durable_commit, verify_state
from whimbrel.durable_file import Disk
from whimbrel.facts.api import FactsDamaged
from whimbrel.facts.store import FactsConfig, ParquetFacts
from whimbrel.outcome import CONTENT
from whimbrel.state.api import StateLocked
from whimbrel.state.lock import check_unlocked
from whimbrel.state.rocks import RocksState

_CONTENT: Final = f"where outcome in {tuple(map(str, CONTENT))}"
_CRAWLED: Final = "where not exists (from events where actor = 'import')"


def problems(directory: Path, committed: Committed) -> Iterator[Problem]:
    """What is wrong; nothing when all is well. Tables are compared when their files are whole. The state of a running
    crawl is not looked at."""
    live = is_running(directory)
    durable = committed if live else durable_commit(directory, committed)
    whole = True
    for problem in _files(directory, committed, durable, live=live):
        whole = whole and not problem.file.startswith("facts")
        yield problem
    if what := import_list.read_problem(directory):
        yield Problem(import_list.NAME, 0, what)
    if not live:
        yield from verify_state(directory, committed)
    if whole:
        try:
            yield from _tables(directory, committed)
        except FactsDamaged as error:
            yield Problem("facts", 0, str(error))


def _files(directory: Path, published: Committed, durable: Committed, *, live: bool) -> Iterator[Problem]:
    """What either commit lists: readers use the published one, a start goes on from the durable one."""
    both = msgspec.structs.replace(
        durable,
        files={**published.files, **durable.files},
        parquet=list(dict.fromkeys([*published.parquet, *durable.parquet])),
        digests={**published.digests, **durable.digests},
    )
    yield from verify_files(directory, both)
    yield from _tails(directory, both, live=live)
    yield from verify_archive(directory, both.archive(), surplus=both.state == "running")
    if not live:
        try:
            ParquetFacts(directory, FactsConfig(), Disk()).check(durable.number, durable.facts(), durable.parquet)
        except FactsDamaged as error:
            yield Problem("facts", 0, str(error))


def is_running(directory: Path) -> bool:
    """Whether a process works on the crawl."""
    try:
        check_unlocked(directory, directory / RocksState.folder)
    except StateLocked:
        return True
    return False


def _tails(directory: Path, committed: Committed, *, live: bool) -> Iterator[Problem]:
    from whimbrel.facts.verify import tail_damage  # pyarrow: not at the start

    try:
        for damage in tail_damage(directory, committed.facts()):
            yield Problem(*damage)
    except FileNotFoundError as error:
        if not live or _last_number(directory) == committed.number:
            yield Problem(Path(error.filename).relative_to(directory).as_posix(), 0, "missing")


def _last_number(directory: Path) -> int:
    try:
        return read_committed(directory).number
    except NotACrawl:
        return 0


def _tables(directory: Path, committed: Committed) -> Iterator[Problem]:
    """Each capture has an id and a record of its own, and a visit; each page stands once; what links, items and
    duplicates name is there; every URL has one final outcome, unless it was captured again; counts agree."""
    from whimbrel.query.open_snapshot import latest_snapshot
    from whimbrel.query.sql import Query, QueryConfig

    stored = sum(committed.counters.outcomes.get(outcome, 0) for outcome in CONTENT)
    again = committed.counters.recaptured
    checks = {
        "captures that share an id": f"select count(*) - count(distinct capture_id) from captures {_CRAWLED}",  # noqa: S608
        "records that two captures claim": "select count(*) from (select warc_file, warc_offset from captures where "
        "warc_file <> '' group by all having count(*) > 1)",
        "captures without a visit": "select count(*) from captures c anti join fetches f on c.url = f.url",
        "captures of pages more or less than counted": f"select abs(count(*) - {stored}) from captures {_CONTENT}",  # noqa: S608
        "pages that stand twice": "select count(*) - count(distinct url) from pages",
        "URLs that have content but are no pages": f"select (select count(distinct url) from captures {_CONTENT}) - "  # noqa: S608
        "(select count(*) from pages)",
        "links of captures that are not there": "select count(*) from links_history l anti join captures c "
        "using (capture_id)",
        "runs of handlers on captures that are not there": "select count(*) from handled h anti join captures c "
        "using (capture_id)",
        "duplicates of captures that are not there": "select count(*) from captures d anti join captures c on "
        "c.capture_id = d.duplicate_of_id where d.duplicate_of_id is not null",
        "URLs with two final outcomes": f"select greatest(0, count(*) - count(distinct url) - {again} - (select "  # noqa: S608
        f"count(*) from fetches where reason = 'requeued')) from fetches {_CRAWLED} and outcome <> 'retry'",
    }
    snapshot = latest_snapshot(directory)
    with Query([snapshot], QueryConfig()) as asked:
        for what, sql in checks.items():
            with asked.run(sql) as answer:
                found = next(iter(answer)).column(0)[0].as_py()
            if found:
                yield Problem("facts", 0, f"{what}: {found:,}")
