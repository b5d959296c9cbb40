"""`whimbrel bench scale`."""

import tempfile
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from whimbrel.job.unit import duration_s


def scale(
    known: Annotated[int, typer.Option(min=1_000, help="URLs that the crawl knows.")] = 10_000_000,
    hosts: Annotated[int, typer.Option(min=100, help="Hosts with three URLs each.")] = 1_000_000,
    one_host: Annotated[int, typer.Option(min=1, help="URLs of one more host.")] = 3_000_000,
    taken: Annotated[int, typer.Option(min=0, help="URLs taken from the frontier and finished.")] = 1_000_000,
    time: Annotated[str, typer.Option(help="How long to crawl on each state.")] = "5m",
    work: Annotated[Path | None, typer.Option(help="Where the states are built; needs some gigabytes.")] = None,
    json_: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
) -> None:
    """Crawl on with a small state and with one of ten million URLs, and compare speed, memory and start.

    Exit codes: 0 the large one has 90 % of the speed, less than 600 MB, and its first page within 10 s; 1 it has not.
    """
    from whimbrel.bench.scale.build import Size
    from whimbrel.bench.scale.measure import measure

    size = Size(hosts=hosts, per_host=3, one_host=one_host, taken=taken, known=known)
    with tempfile.TemporaryDirectory(prefix="whimbrel-scale-") as folder:
        found = measure(size, duration_s(time), work or Path(folder), lambda line: typer.echo(line, err=True))
    if json_:
        typer.echo(msgspec.json.format(msgspec.json.encode(found), indent=2).decode())
    else:
        for name, run in (("small", found.small), ("large", found.large)):
            typer.echo(
                f"{name}: {run.pages_per_s:,.0f} pages/s, {run.cpu_ms_per_page:.2f} ms of CPU each, peak "
                f"{run.peak_bytes / 1e6:,.0f} MB, first pages committed after {run.first_s:.1f} s"
            )
        built = found.built
        typer.echo(
            f"{built.known:,} known, {built.queued:,} queued, {built.taken:,} taken: "
            f"{built.state_bytes / built.known:,.0f} bytes of state per URL; {found.kept:.0%} of the small state's rate"
        )
    raise typer.Exit(0 if found.met else 1)
