"""`whimbrel bench`: measure, and print what the documentation quotes."""

import json
from typing import Annotated

import msgspec
import typer
from rich.console import Console
from rich.table import Table

app = typer.Typer(no_args_is_help=True, help="Measure Whimbrel on this machine.")
JsonOption = Annotated[bool, typer.Option("--json", help="As JSON.")]

DIRECT_US = 1.0
QUEUE_US = 5.0
SIMWEB_PAGES_PER_S = 8_000
SIMWEB_MB = 200


@app.command()
def flow(json_: JsonOption = False) -> None:
    """What a hop between two components costs, beside a plain call.

    Exit codes: 0 within the bounds (direct: 1 µs over a call; queue: 5 µs in batches), 1 not.
    """
    from whimbrel.bench.flow import measure

    console = Console(stderr=True)
    with console.status("measuring") as status:
        rows = measure(lambda what: status.update(f"measuring {what}"))
    if json_:
        typer.echo(json.dumps([msgspec.structs.asdict(row) for row in rows], indent=2))
    else:
        table = Table("hop", "batch", "µs per item", "µs over a call", box=None, padding=(0, 2))
        for row in rows:
            batch = str(row.batch) if row.batch else "–"
            table.add_row(row.hop, batch, f"{row.cost_us:.2f}", f"{row.over_call_us:.2f}")
        Console().print(table)
    direct = next(row for row in rows if row.hop == "direct")
    queue = next(row for row in rows if row.hop == "queue" and row.batch == 64)
    raise typer.Exit(0 if direct.over_call_us <= DIRECT_US and queue.cost_us <= QUEUE_US else 1)


@app.command()
def simweb(
    hosts: Annotated[int, typer.Option(min=4, help="Hosts of the web.")] = 1_000_000,
    connections: Annotated[int, typer.Option(min=1, help="wrk's connections.")] = 64,
    seconds: Annotated[int, typer.Option(min=1, help="How long to measure.")] = 10,
    json_: JsonOption = False,
) -> None:
    """How fast the simulated web serves pages of 28 KB from one core; wrk asks from the other.

    Exit codes: 0 at least 8,000 pages/s in less than 200 MB, 1 not, 2 wrk is missing.
    """
    from whimbrel.bench.simweb import BenchError, measure

    try:
        found = measure(hosts, connections, seconds)
    except BenchError as error:
        typer.echo(f"whimbrel: {error}", err=True)
        raise typer.Exit(2) from error
    if json_:
        typer.echo(json.dumps(msgspec.structs.asdict(found), indent=2))
    else:
        typer.echo(
            f"{found.pages_per_s:,.0f} pages/s of {found.bytes_per_page:,.0f} bytes, "
            f"{found.server_cpu_us_per_page:.0f} µs of the server's CPU each, {found.hosts:,} hosts, "
            f"{found.connections} connections, peak memory {found.server_peak_mb:.0f} MB, {found.errors} errors"
        )
    good = found.pages_per_s >= SIMWEB_PAGES_PER_S and found.server_peak_mb < SIMWEB_MB and found.errors == 0
    raise typer.Exit(0 if good else 1)
