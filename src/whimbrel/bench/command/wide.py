"""`whimbrel bench wide`: a crawl of very many slow hosts."""

import tempfile
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from whimbrel.job.unit import duration_s


def wide(
    hosts: Annotated[int, typer.Option(min=1, help="Hosts of the web.")] = 2_000,
    pages: Annotated[int, typer.Option(min=1, help="Pages of each host.")] = 20,
    latency: Annotated[str, typer.Option(help="How long every host takes to answer.")] = "1s",
    connections: Annotated[int, typer.Option(min=1, help="The crawl's connections.")] = 2_000,
    max_time: Annotated[str, typer.Option(help="Give up after this time.")] = "10m",
    json_: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """How near a crawl of many hosts that each take a second to answer comes to the ideal: all busy all the time.

    Exit codes: 0 measured, 2 the crawl could not be run.
    """
    from whimbrel.bench.politeness.wide import WidePlan, measure

    latency_ms = max(1, round(duration_s(latency) * 1_000))
    plan = WidePlan(
        hosts=hosts, pages=pages, latency_ms=latency_ms, connections=connections, max_s=duration_s(max_time)
    )
    with tempfile.TemporaryDirectory(prefix="whimbrel-bench-") as folder:
        found = measure(plan, Path(folder))
    if json_:
        typer.echo(msgspec.json.format(msgspec.json.encode(found), indent=2).decode())
        return
    typer.echo(
        f"{found.pages:,} pages of {found.hosts:,} hosts in {found.seconds:.1f} s: {found.pages_per_s:,.0f} pages/s, "
        f"{found.share:.0%} of the ideal; {found.steady_pages_per_s:,.0f} pages/s and {found.steady_share:.0%} without "
        f"the first and the last tenth; {found.cpu_ms_per_page:.2f} ms of CPU per page, "
        f"{found.peak_in_flight:,} in flight at most"
    )
