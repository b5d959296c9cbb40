"""`whimbrel bench beside`: a crawl with questions asked beside it."""

import tempfile
from pathlib import Path
from typing import Annotated

import msgspec
import typer


def beside(
    hosts: Annotated[int, typer.Option(min=1, help="Hosts of the web.")] = 100,
    pages: Annotated[int, typer.Option(min=1, help="Pages of each host.")] = 120,
    rounds: Annotated[int, typer.Option(min=1, help="Crawls of each kind, in turn; the median ratio counts.")] = 3,
    pages_per_s: Annotated[float, typer.Option(min=1, help="Speed of all crawls.")] = 500.0,
    json_: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """What questions and an open dashboard cost a running crawl: its CPU time per page with and without them.

    Exit codes: 0 at most 5 % more than alone, and every answer was right; 1 not; 2 a crawl could not be run.
    """
    from whimbrel.bench.beside import Plan, measure
    from whimbrel.bench.politeness.stage import StageError

    with tempfile.TemporaryDirectory(prefix="whimbrel-bench-") as folder:
        try:
            found = measure(Plan(hosts=hosts, pages=pages, rounds=rounds, pages_per_s=pages_per_s), Path(folder))
        except StageError as error:
            typer.echo(f"whimbrel: {error}", err=True)
            raise typer.Exit(2) from error
    if json_:
        typer.echo(msgspec.json.format(msgspec.json.encode(found), indent=2).decode())
    else:
        kinds = {
            "alone": found.alone_ms,
            "beside a process that spins": found.spinning_ms,
            f"beside {found.questions} questions": found.beside_ms,
            "watched as by a dashboard": found.watched_ms,
        }
        for kind, each in kinds.items():
            typer.echo(f"{kind}: {', '.join(f'{one:.3f}' for one in each)} ms of CPU per page")
        typer.echo(
            f"questions: {found.ratio:.3f} times the crawl alone; watched: {found.watched_ratio:.3f} times; "
            f"a process that spins: {found.neighbour_ratio:.3f} times"
        )
        typer.echo(f"{len(found.wrong)} wrong answers {found.wrong[:3] or ''}")
    raise typer.Exit(0 if found.met else 1)
