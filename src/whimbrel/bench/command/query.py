"""`whimbrel bench query`."""

import shutil
import tempfile
from pathlib import Path
from typing import Annotated

import msgspec
import typer


def query(
    pages: Annotated[int, typer.Option(min=1, help="Pages of the crawl that is made up.")] = 1_000_000,
    links: Annotated[int, typer.Option(min=1, help="Links of each page.")] = 50,
    work: Annotated[Path | None, typer.Option(help="Keep the tables here for the next time; some gigabytes.")] = None,
    json_: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
) -> None:
    """Ask the tables of a large crawl, which is made up: a group-by, the most linked pages, a join, near-duplicates.

    Exit codes: 0 each within 4 s (near-duplicates: 10 s) and 2 GB, 1 not.
    """
    from whimbrel.bench.query import ask, make

    folder = work or Path(tempfile.mkdtemp(prefix="whimbrel-query-"))
    try:
        if not (folder / "COMMITTED").exists():
            make(folder, pages, links, lambda line: typer.echo(line, err=True))
        found = ask(folder)
    finally:
        if work is None:
            shutil.rmtree(folder)
    if json_:
        typer.echo(msgspec.json.format(msgspec.json.encode(found), indent=2).decode())
    else:
        for one in found:
            typer.echo(
                f"{one.name}: {one.seconds:.2f} s, {one.cpu_s:.2f} s of CPU, peak {one.peak_bytes / 1e6:,.0f} MB, "
                f"{one.rows} rows"
            )
    raise typer.Exit(0 if all(one.met for one in found) else 1)
