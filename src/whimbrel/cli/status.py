"""`whimbrel status`: a crawl at its last commit, running or not."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.table import Table

from whimbrel.commit.committed import Committed, read_committed
from whimbrel.terminal import plain_console, size


def status(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="The crawl's directory.")],
    json_: Annotated[bool, typer.Option("--json", help="Print it as JSON.")] = False,
) -> None:
    """Show where a crawl stands: what is durable, and nothing else.

    Exit codes: 0 shown, 2 there is no crawl.
    """
    committed = _with_hosts(directory, read_committed(directory))
    if json_:
        typer.echo(msgspec.json.format(msgspec.json.encode(committed), indent=2).decode())
        return
    console = plain_console()
    at = datetime.fromtimestamp(committed.at_s, UTC)
    console.print(
        f"[bold]{committed.state}[/bold], commit {committed.number:,} of {at:%Y-%m-%d %H:%M:%S} UTC", highlight=False
    )
    console.print(_table(committed))


def _with_hosts(directory: Path, committed: Committed) -> Committed:
    from whimbrel.query.host_count import known_hosts  # DuckDB: when it is needed

    if committed.counters.hosts or not committed.counters.visits:
        return committed
    counters = msgspec.structs.replace(committed.counters, hosts=known_hosts(directory, committed))
    return msgspec.structs.replace(committed, counters=counters)


def _table(committed: Committed) -> Table:
    table = Table(box=None, padding=(0, 2), show_header=False)
    counters = committed.counters
    for name, count in (("visits", counters.visits), ("queued", counters.queued), ("hosts", counters.hosts)):
        table.add_row(name, "", f"{count:,}")
    table.add_row("bytes fetched", "", size(counters.bytes))
    archived = sum(committed.archive().values())
    table.add_row("archive", f"{len(committed.archive())} segments", size(archived))
    table.add_row("tables", f"{len(committed.parquet)} Parquet files", f"{len(committed.facts())} tails")
    reasons = [
        (outcome, reason, count) for outcome, of in counters.current_reasons().items() for reason, count in of.items()
    ]
    refused = [("links not followed", reason, count) for reason, count in counters.refused.items()]
    handled = [("handlers", outcome, count) for outcome, count in counters.handled.items()]
    for rows in (reasons, handled, refused):
        for what, reason, count in sorted(rows, key=lambda row: -row[2]):
            table.add_row(what, reason, f"{count:,}")
    return table
