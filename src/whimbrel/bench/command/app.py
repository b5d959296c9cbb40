"""`whimbrel bench`: measure, and print what the documentation quotes."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer
from rich.console import Console
from rich.table import Table

from whimbrel.bench.command.overhead import overhead
from whimbrel.bench.command.politeness import politeness
from whimbrel.bench.command.query import query
from whimbrel.bench.command.scale import scale
from whimbrel.bench.command.slot import slot
from whimbrel.bench.command.wide import wide
from whimbrel.job.unit import duration_s
from whimbrel.terminal import plain_console

if TYPE_CHECKING:
    from whimbrel.bench.peers.api import CorpusSpec

app = typer.Typer(no_args_is_help=True, help="Measure Whimbrel on this machine.")
app.command("politeness")(politeness)
app.command("wide")(wide)
app.command("scale")(scale)
app.command("slot")(slot)
app.command("query")(query)
app.command("overhead")(overhead)
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
    from whimbrel.bench.simweb import measure

    found = measure(hosts, connections, seconds)
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


@app.command()
def peers(
    corpus: Annotated[
        list[str] | None,
        typer.Option(
            help="documents (manuals of the system), small, realistic or quotes (items taken out of pages); may be "
            "repeated. All by default, documents where they are installed."
        ),
    ] = None,
    peer: Annotated[list[str] | None, typer.Option(help="Only this crawler; may be repeated.")] = None,
    pages: Annotated[
        int, typer.Option(min=1, help="Pages of the small corpus, on 100 hosts; quotes has half.")
    ] = 20_000,
    hosts: Annotated[int, typer.Option(min=1, help="Hosts of the realistic corpus, with 3 pages each.")] = 20_000,
    sample: Annotated[int, typer.Option(min=1, help="About how many pages of a corpus slow peers crawl.")] = 2_000,
    rounds: Annotated[int, typer.Option(min=1, help="Rounds, peer after peer; the median counts.")] = 1,
    connections: Annotated[int, typer.Option(min=1, help="Connections or threads of each crawler.")] = 64,
    timeout: Annotated[str, typer.Option(help="A crawler is stopped after this time.")] = "3m",
    peers_env: Annotated[Path, typer.Option(help="Where Scrapy and Crawlee are installed.")] = Path(".bench-venv"),
    work: Annotated[Path | None, typer.Option(help="Keep the corpora here for the next time.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw CPU per page into this SVG file.")] = None,
    json_: JsonOption = False,
) -> None:
    """Whimbrel beside Scrapy, Crawlee, wget2 and wget: CPU, speed, memory and bytes stored on the same pages.

    All of them run on one core of a private network; `make bench-tools` installs them. Exit codes: 0 CPU per page is at
    most a tenth of Scrapy's and four times wget2's, 1 it is not, 2 the comparison cannot run, 3 a bar is not judged.
    """
    from whimbrel.bench.peers import report
    from whimbrel.bench.peers.plot import plot as draw
    from whimbrel.bench.peers.runner import NAMES
    from whimbrel.bench.peers.start import PeersOptions, start

    options = PeersOptions(
        corpora=_corpora(corpus, pages, hosts),
        peers=[_one_of(name, NAMES) for name in peer or ()],
        peers_env=peers_env,
        work=work,
        sample=sample,
        rounds=rounds,
        connections=connections,
        timeout_s=duration_s(timeout),
    )
    found = start(options)
    table = report.rows(found)
    if plot is not None:
        plot.write_text(draw(table), encoding="utf-8")
    if json_:
        whole = {"rows": table, "verdicts": report.verdicts(table), "found": found}
        typer.echo(msgspec.json.format(msgspec.json.encode(whole)).decode())
    else:
        report.show(plain_console(), found)
    raise typer.Exit(report.exit_code(table))


def _corpora(names: list[str] | None, pages: int, hosts: int) -> "list[CorpusSpec]":
    """Those that are named; all that this machine has when none is."""
    from whimbrel.bench.peers import corpus
    from whimbrel.bench.peers.api import PeersError
    from whimbrel.bench.peers.documentation import documents

    specs: dict[str, Callable[[], CorpusSpec]] = {
        "documents": documents,
        "small": partial(corpus.small, pages),
        "realistic": partial(corpus.realistic, hosts),
        "quotes": partial(corpus.quotes, pages // 2),
    }
    if names:
        return [specs[_one_of(name, tuple(specs))]() for name in names]
    found = []
    for make in specs.values():
        try:
            found.append(make())
        except PeersError as error:
            typer.echo(f"left out: {error}", err=True)
    return found


def _one_of(name: str, known: tuple[str, ...]) -> str:
    if name not in known:
        raise typer.BadParameter(f"{name!r} is none of {', '.join(known)}")
    return name
