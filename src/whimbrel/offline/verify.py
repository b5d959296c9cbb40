"""Everything of a crawl compared with the last commit and with itself: archive, digests of files, tables."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from whimbrel.archive.verify import Problem
from whimbrel.archive.verify import verify as verify_archive
from whimbrel.commit.committed import Committed
from whimbrel.commit.verify import verify_files
from whimbrel.outcome import CONTENT

_CONTENT: Final = f"where outcome in {tuple(map(str, CONTENT))}"
_CRAWLED: Final = "where not exists (from events where actor = 'import')"


def problems(directory: Path, committed: Committed) -> list[Problem]:
    """What is wrong; nothing when all is well. Tables are compared when their files are whole."""
    running = committed.state == "running"
    found = [
        *verify_archive(directory, committed.archive(), surplus=running),
        *verify_files(directory, committed),
    ]
    if not any(problem.file in committed.parquet for problem in found):
        found += _tables(directory, committed)
    return found


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
