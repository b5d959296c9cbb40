"""`whimbrel import`."""

from pathlib import Path
from typing import Annotated

import msgspec
import typer

from whimbrel.terminal import counted, plain_console


def import_(
    files: Annotated[list[Path], typer.Argument(metavar="WARC...", help="WARC files, compressed or not.")],
    into: Annotated[Path, typer.Option(help="Directory for the crawl that is made of them.")],
    json_: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
) -> None:
    """Make a crawl's directory of web archives that others wrote: query, get and reparse work on it.

    The files are read and left as they are. An import that was interrupted goes on when the same command is given
    again. Exit codes: 0 done, 1 a file cannot be read, 2 usage.
    """
    from whimbrel.offline.warc_import import Imported, import_warcs

    console, shown = plain_console(stderr=True), [0]

    def show(now: Imported) -> None:
        if now.captures >= shown[0] + 10_000:
            shown[0] = now.captures
            console.print(f"{now.captures:,} captures", highlight=False)

    found = import_warcs(files, into, show)
    if json_:
        typer.echo(msgspec.json.encode(found).decode())
        return
    typer.echo(
        f"{counted(found.captures, 'capture')} of {counted(found.files, 'file')}, {found.pages:,} of them pages; "
        f"{counted(found.passed_over, 'record')} passed over"
    )
    sql = "select host, count(*) from pages group by 1 order by 2 desc"
    typer.echo(f'Ask it:   whimbrel query {into} "{sql}"')
