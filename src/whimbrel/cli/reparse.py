"""`whimbrel reparse`."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from whimbrel.terminal import counted, plain_console, printable

if TYPE_CHECKING:
    from whimbrel.offline.reparse import Reparsed


def reparse(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="A crawl that is not running.")],
    with_: Annotated[list[Path], typer.Option("--with", metavar="FILE.py", help="Files with handlers.")],
    where: Annotated[
        str, typer.Option(metavar="SQL", help="Only pages for which this holds: \"host = 'a.b'\".")
    ] = "true",
    processes: Annotated[int, typer.Option(min=1, help="Workers.")] = 1,
    json_: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
) -> None:
    """Run handlers over the pages of a crawl again, from its archive: nothing is fetched.

    The items take the place of those that earlier versions of the code made of the same pages: in the tables of the
    classes that these files define or import, and on the pages on which no handler fails. All others stay. It can be
    stopped at any moment and begun again. Exit codes: 0 done, 1 failed (also: handlers failed on every page), 2 usage.
    """
    from whimbrel.job.handling import rules_of
    from whimbrel.job.parts import registry
    from whimbrel.offline.reparse import reparse as run
    from whimbrel.query.sql import QueryFailed, QueryRefused

    rules = rules_of(registry(*with_))
    if not rules.parse:
        raise typer.BadParameter(f"no handler in {', '.join(map(str, with_))}; mark one with @whimbrel.handler()")
    console = plain_console(stderr=True)

    def show(now: "Reparsed") -> None:
        console.print(f"{now.pages:,} pages, {now.items:,} items, {now.pages / max(now.elapsed_s, 0.001):,.0f} pages/s")

    began_at_s = time.time()
    try:
        found = run(directory, rules, where=where, processes=processes, show=show)
    except (QueryFailed, QueryRefused) as error:
        raise typer.BadParameter(f"--where: {error}") from error
    if json_:
        typer.echo(msgspec.json.encode(found).decode())
    else:
        _print(directory, found, began_at_s)
    raise typer.Exit(1 if found.failed and found.failed == found.pages else 0)


def _print(directory: Path, found: "Reparsed", began_at_s: float) -> None:
    from whimbrel.query.handler_failure import failures_sql, handler_failures

    rate = found.pages / max(found.elapsed_s, 0.001)
    typer.echo(
        f"{counted(found.pages, 'page')} in {found.elapsed_s:.1f} s ({rate:,.0f}/s), {counted(found.items, 'item')}"
    )
    if found.failed:
        typer.echo(f"Handlers failed on {found.failed:,} of {counted(found.pages, 'page')}, whose earlier items stay:")
        for error, pages in handler_failures(directory, began_at_s).items():
            typer.echo(f"  {printable(error)} ({pages:,} page{'s' if pages > 1 else ''})")
        typer.echo(f'Tracebacks:  whimbrel query {directory} "{failures_sql(began_at_s)}"')
