"""`whimbrel bench politeness`: prove from the server's log that a crawl keeps its promises, killed or not."""

import tempfile
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.console import Console
from rich.table import Table

from whimbrel.job.unit import duration_s


def politeness(
    requests: Annotated[int, typer.Option(min=100, help="Stop the crawl after this many.")] = 100_000,
    kills: Annotated[int, typer.Option(min=0, help="Kill the crawl this often, and resume it.")] = 5,
    delay: Annotated[str, typer.Option(help="The crawl's delay for site, domain and address.")] = "0.5s",
    connections: Annotated[int, typer.Option(min=1, help="The crawl's connections.")] = 256,
    max_time: Annotated[str, typer.Option(help="Stop the crawl after this time, however far it is.")] = "10m",
    seed: Annotated[int, typer.Option(help="The number that the web and the moments of the kills come from.")] = 1,
    keep: Annotated[Path | None, typer.Option(help="Leave the access log and the crawl in this directory.")] = None,
    json_: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Crawl a simulated web with real delays, kill the crawl at random moments, resume it, and judge the web's log.

    Exit codes: 0 every promise was kept, 1 one was broken, 2 the crawl could not be run.
    """
    from whimbrel.bench.politeness.run import PolitenessPlan, experiment

    plan = PolitenessPlan(
        requests=requests,
        kills=kills,
        delay_s=duration_s(delay),
        connections=connections,
        max_s=duration_s(max_time),
        seed=seed,
    )
    with tempfile.TemporaryDirectory(prefix="whimbrel-bench-") as folder, Console(stderr=True).status("") as status:
        found = experiment(plan, keep or Path(folder), status.update)
    broken = sum(found.violations.values())
    if json_:
        typer.echo(msgspec.json.format(msgspec.json.encode(found), indent=2).decode())
        raise typer.Exit(1 if broken else 0)
    typer.echo(
        f"{found.requests:,} requests ({found.pages:,} pages, {found.robots:,} for robots.txt) "
        f"to {found.hosts:,} hosts in {found.seconds:.0f} s, {found.kills} kills; ended by {found.ended}"
    )
    typer.echo(f"most in flight: {found.cdn_peak} at an address of many domains, {found.ip_peak} at any other")
    table = Table("rule", "violations", box=None, padding=(0, 2))
    for rule, count in found.violations.items():
        table.add_row(rule, f"{count:,}")
    Console().print(table)
    for one in found.examples:
        typer.echo(f"{one.rule}: {one.subject} at {one.at_s:.3f}: {one.detail}")
    raise typer.Exit(1 if broken else 0)
