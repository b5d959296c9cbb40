"""`whimbrel bench slot`."""

import tempfile
from pathlib import Path
from typing import Annotated

import msgspec
import typer


def slot(
    urls: Annotated[int, typer.Option(min=1_000, help="URLs that the crawl knows.")] = 1_000_000,
    work: Annotated[Path | None, typer.Option(help="Where the states are built.")] = None,
    json_: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
) -> None:
    """Move a slot of a large state to another, and compare every pair before and after.

    Exit codes: 0 nothing was left behind and nothing has changed; 1 something was, or has.
    """
    from whimbrel.bench.scale.slot import move_slot

    with tempfile.TemporaryDirectory(prefix="whimbrel-slot-") as folder:
        found = move_slot(urls, work or Path(folder), lambda line: typer.echo(line, err=True))
    if json_:
        typer.echo(msgspec.json.format(msgspec.json.encode(found), indent=2).decode())
    else:
        typer.echo(
            f"a state of {found.urls:,} URLs, {found.state_bytes / found.urls:,.0f} bytes of disk each; the slot has "
            f"{found.slot_urls:,} URLs, {found.pairs:,} pairs, {found.pair_bytes / 1e6:,.1f} MB"
        )
        typer.echo(
            f"exported in {found.export_s:.1f} s as {found.exported_bytes / 1e6:,.1f} MB, imported in "
            f"{found.import_s:.1f} s, deleted in {found.delete_s:.1f} s"
        )
        typer.echo("nothing is left behind and nothing has changed" if found.met else "SOMETHING IS WRONG")
    raise typer.Exit(0 if found.met else 1)
