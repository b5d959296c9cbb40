"""`whimbrel query`."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import get_native_id
from typing import TYPE_CHECKING, Annotated, Final

import typer

from whimbrel.job.unit import duration_s
from whimbrel.query.format import Format
from whimbrel.terminal import plain_console

if TYPE_CHECKING:
    from whimbrel.query.sql import Answer


_NICE: Final = 10


def query(
    directories: Annotated[list[Path], typer.Argument(metavar="DIR...", help="Crawls, running or not.")],
    sql: Annotated[str, typer.Argument(metavar="SQL", help="One SELECT over the tables below.")],
    form: Annotated[Format, typer.Option("--format", help="How to write the answer.")] = Format.TABLE,
    max_time: Annotated[str, typer.Option("--max-time", help="Give up after this long.")] = "5m",
) -> None:
    """Ask a crawl in SQL. It answers from what is committed, also while it runs.

    Tables: pages, captures, links, links_history, fetches, hosts, events, handled, near_duplicates; and for each class
    of items TABLE and TABLE_history. "describe pages" shows columns. With several crawls every table has one more
    column, `crawl`: the name of the directory.

    Functions beside DuckDB's own: host, site, path_depth, registered_domain, surt, body and headers, each of a URL;
    hamming of two numbers.

    Exit codes: 0 answered, 1 the question failed or took too long, 2 usage: no crawl there, or not a single SELECT.
    """
    from whimbrel.query.open_snapshot import latest_snapshot
    from whimbrel.query.sql import Query, QueryConfig

    if form is Format.PARQUET and sys.stdout.isatty():
        raise typer.BadParameter("Parquet is not for a terminal; send it to a file: > answer.parquet")
    config = QueryConfig(time_limit_s=duration_s(max_time))
    with _nicely():
        crawls = [latest_snapshot(directory) for directory in directories]
        with Query(crawls, config) as asked, asked.run(sql) as answer:
            _show(answer, form)


@contextmanager
def _nicely() -> Iterator[None]:
    """This thread comes after a crawl on the same machine. Not everybody may take that back; most end here anyway."""
    thread = get_native_id()
    before = os.getpriority(os.PRIO_PROCESS, thread)
    try:
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, thread, max(before, _NICE))
        yield
    finally:
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, thread, before)


def _show(answer: "Answer", form: Format) -> None:
    from whimbrel.query.render import RENDERERS, TABLE_ROWS, render_table

    if form is not Format.TABLE:
        RENDERERS[form](answer, sys.stdout.buffer)
        sys.stdout.buffer.flush()
    elif not render_table(answer, plain_console()):
        typer.echo(f"The first {TABLE_ROWS:,} rows; --format csv writes them all.", err=True)
