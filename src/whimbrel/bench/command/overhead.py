"""`whimbrel bench overhead`: what observers cost a running crawl."""

import tempfile
from pathlib import Path
from statistics import mean
from typing import Annotated

import msgspec
import typer
from rich.console import Console

from whimbrel.job.unit import duration_s


def overhead(
    hosts: Annotated[int, typer.Option(min=1, help="Hosts of the web.")] = 100,
    rounds: Annotated[int, typer.Option(min=1, help="Crawls, one after the other.")] = 4,
    cycles: Annotated[int, typer.Option(min=1, help="Cycles of each crawl, with a turn of each kind.")] = 8,
    turn: Annotated[str, typer.Option(help="How long a turn takes.")] = "3s",
    pages_per_s: Annotated[float, typer.Option(min=1, help="Speed of all crawls.")] = 500.0,
    json_: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """What questions and an open dashboard cost a running crawl: its CPU time per page with and without them.

    Without Chromium the dashboard is not measured, and it says so. Exit codes: 0 at most 5 % more than alone, and every
    answer was right; 1 not; 2 a crawl could not be run.
    """
    from whimbrel.bench.overhead import OverheadPlan, measure

    with tempfile.TemporaryDirectory(prefix="whimbrel-bench-") as folder:
        plan = OverheadPlan(hosts=hosts, rounds=rounds, cycles=cycles, turn_s=duration_s(turn), pages_per_s=pages_per_s)
        with Console(stderr=True).status("measuring") as status:
            found = measure(plan, Path(folder), status.update)
    if json_:
        typer.echo(msgspec.json.format(msgspec.json.encode(found), indent=2).decode())
    else:
        names = {
            "alone": "alone",
            "spinning": "beside a process that spins",
            "watched": "with its dashboard open in a browser",
            "asked": f"beside {found.questions} questions",
        }
        for kind, turns in found.turns_ms.items():
            ratio = "" if kind == "alone" else f", {found.ratio(kind):.3f} ± {found.error(kind):.3f} times alone"
            typer.echo(f"{names[kind]}: {mean(turns):.3f} ms of CPU per page in {len(turns)} turns{ratio}")
        if found.unwatched:
            typer.echo(f"the dashboard was not measured: {found.unwatched}")
        typer.echo(f"{len(found.wrong)} wrong answers {found.wrong[:3] or ''}")
    raise typer.Exit(0 if found.met else 1)
