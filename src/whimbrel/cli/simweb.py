"""`whimbrel simweb`: serve a simulated web, tell the truth about it, list its faults."""

import asyncio
import json
import shlex
import signal
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer
from rich.table import Table

from whimbrel.job.unit import duration_s
from whimbrel.simweb.preset import Preset, spec_of
from whimbrel.simweb.spec import WebSpec, changed, read_spec
from whimbrel.terminal import plain_console

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whimbrel.simweb.truth import TruthRow

app = typer.Typer(no_args_is_help=True, help="A web made from a number, to test crawlers on.")

SpecOption = Annotated[Path | None, typer.Option("--spec", help="A TOML or JSON file with keys of WebSpec.")]
PresetOption = Annotated[Preset, typer.Option(help="Where to start from.")]
SeedOption = Annotated[int | None, typer.Option("--seed", help="The number that the web is made from.")]
HostsOption = Annotated[int | None, typer.Option("--hosts", min=1, help="How many hosts.")]
PagesOption = Annotated[int | None, typer.Option("--pages", min=1, help="Pages per host.")]
StateOption = Annotated[Path, typer.Option("--state", help="Directory of the running web.")]
DEFAULT_STATE = Path("simweb")


def web_spec(spec: Path | None, preset: Preset, **changes: int | None) -> WebSpec:
    """The web that the options ask for: the file or the preset, then the options."""
    base = read_spec(spec) if spec is not None else spec_of(preset)
    return changed(base, {name: value for name, value in changes.items() if value is not None})


@app.command()
def serve(
    spec: SpecOption = None,
    preset: PresetOption = Preset.PLAIN,
    seed: SeedOption = None,
    hosts: HostsOption = None,
    pages: PagesOption = None,
    warc: Annotated[list[Path] | None, typer.Option(help="Serve stored pages from WARC files instead.")] = None,
    state: StateOption = DEFAULT_STATE,
    log: Annotated[Path | None, typer.Option(help="Write an access log.")] = None,
    http_port: Annotated[int | None, typer.Option(min=1, max=65_535, help="Port for http.")] = None,
    https_port: Annotated[int | None, typer.Option(min=1, max=65_535, help="Port for https.")] = None,
    dns_port: Annotated[int, typer.Option(min=1, max=65_535, help="Port for DNS.")] = 18_053,
    free_ports: Annotated[bool, typer.Option(help="Take ports that are free instead of fixed ones.")] = False,
    real_time: Annotated[bool, typer.Option(help="Pages change as time passes, not only with `simweb clock`.")] = False,
) -> None:
    """Serve a simulated web on loopback over http, https (HTTP/1.1 and 2) and DNS, until interrupted.

    Exit codes: 0 interrupted, 2 usage or a port that is taken.
    """
    import uvloop

    from whimbrel.simweb.server import serve as server

    web = web_spec(spec, preset, seed=seed, hosts=hosts, pages=pages, http_port=http_port, https_port=https_port)
    if free_ports:
        web, dns_port = server.free_ports(web)
    options = server.ServeOptions(state, dns_port, log, real_time)
    uvloop.run(_serve(web, options, warc or []))


async def _serve(spec: WebSpec, options: Any, warc: list[Path]) -> None:
    from whimbrel.simweb.server.serve import serving
    from whimbrel.simweb.web import Web

    stopped = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    if warc:
        from whimbrel.simweb.server.serve import serving_snapshot
        from whimbrel.simweb.snapshot import WarcWeb

        context = serving_snapshot(WarcWeb(warc), options, http_port=spec.http_port, https_port=spec.https_port)
    else:
        context = serving(Web(spec), options)
    async with context as running:
        said = f"{spec.hosts:,} hosts" if not warc else f"{len(warc)} WARC files"
        ports = f"http {running.http_port}, https {running.https_port}, DNS {running.dns_port}"
        typer.echo(f"simweb serves {said} on loopback: {ports}")
        if running.seeds:
            resolver = f"127.0.0.1:{running.dns_port}"
            traits = ["--scope", "any", "--delay", "0s", "--allow-network", "127.0.0.0/8", "--resolver", resolver]
            command = ["whimbrel", "crawl", running.seeds[0], *traits, "--ca", running.ca]
            typer.echo(f"seed     {running.seeds[0]}")
            typer.echo(f"crawl    {shlex.join(command)}")
        typer.echo(f"clock    {shlex.join(['whimbrel', 'simweb', 'clock', '1d', '--state', str(options.directory)])}")
        await stopped.wait()


@app.command()
def truth(
    spec: SpecOption = None,
    preset: PresetOption = Preset.PLAIN,
    seed: SeedOption = None,
    hosts: HostsOption = None,
    pages: PagesOption = None,
    warc: Annotated[list[Path] | None, typer.Option(help="Of stored pages in WARC files instead.")] = None,
    scope: Annotated[str, typer.Option(help="host, domain or any.")] = "any",
    seeds: Annotated[int, typer.Option(min=1, help="Roots of the first hosts to begin with.")] = 1,
    max_hops: Annotated[int, typer.Option(help="Hops from a seed; 0 is no limit.")] = 20,
    sitemaps: Annotated[bool, typer.Option(help="The crawl reads every host's sitemaps.")] = False,
    requisites: Annotated[bool, typer.Option(help="The crawl fetches styles, scripts and images.")] = False,
    rfc9309: Annotated[bool, typer.Option(help="robots.txt with 4xx means no rules.")] = False,
    json_: Annotated[bool, typer.Option("--json", help="One JSON object per URL instead of a summary.")] = False,
) -> None:
    """Say for each URL what a correct crawl makes of it. Needs no server: the truth is computed."""
    from whimbrel.simweb.truth import Truth, TruthLimits, TruthOptions, TruthRow
    from whimbrel.simweb.web import Web

    if scope not in ("host", "domain", "any"):
        raise typer.BadParameter("scope is host, domain or any")
    web = Web(web_spec(spec, preset, seed=seed, hosts=hosts, pages=pages))
    options = msgspec.convert(
        {"scope": scope, "rfc9309": rfc9309, "sitemaps": sitemaps, "requisites": requisites}, TruthOptions
    )
    options = msgspec.structs.replace(options, limits=TruthLimits(hops=max_hops or None))
    rows = Truth(web, web.seed_urls(seeds), options).rows() if not warc else _stored(warc)
    if json_:
        encoder = msgspec.json.Encoder()
        for row in rows:
            typer.echo(encoder.encode(row).decode())
        return
    counts: Counter[tuple[str, str]] = Counter((row.outcome, row.reason) for row in rows)
    table = Table("outcome", "reason", "URLs", box=None, padding=(0, 2))
    for (outcome, reason), count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        table.add_row(outcome, reason, f"{count:,}")
    plain_console().print(table)
    fields = ", ".join(TruthRow.__struct_fields__)
    typer.echo(f"{sum(counts.values()):,} URLs; the fields of a row with --json: {fields}")


def _stored(warc: list[Path]) -> "Iterator[TruthRow]":
    from whimbrel.simweb.snapshot import WarcWeb
    from whimbrel.simweb.truth import TruthRow

    with WarcWeb(warc) as snapshot:
        for url, outcome, reason in snapshot.truth():
            yield TruthRow(url=url, outcome=outcome, reason=reason, depth=0)


@app.command()
def faults(
    json_: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
    family: Annotated[str, typer.Option(help="Only this family.")] = "",
) -> None:
    """List everything in the simulated web that is not an ordinary page, where it is, and what a correct crawl makes
    of it."""
    from whimbrel.simweb.catalogue import entries

    found = [entry for entry in entries() if not family or entry.family == family]
    if not found:
        known = ", ".join(dict.fromkeys(entry.family for entry in entries()))
        raise typer.BadParameter(f"there is no family {family!r}; there is {known}")
    if json_:
        typer.echo(json.dumps([msgspec.structs.asdict(entry) for entry in found], indent=2))
        return
    console = plain_console()
    for name in dict.fromkeys(entry.family for entry in found):
        table = Table(title=name, title_justify="left", title_style="bold", box=None, padding=(0, 2))
        for column in ("name", "where", "what it does", "a correct crawl"):
            table.add_column(column, overflow="fold")
        for entry in (entry for entry in found if entry.family == name):
            table.add_row(entry.name, entry.where, entry.summary, entry.verdict)
        console.print(table, "")


@app.command()
def clock(
    by: Annotated[str, typer.Argument(help="How far to move it: 10m, 2h, 1d.")],
    state: StateOption = DEFAULT_STATE,
) -> None:
    """Move the virtual clock of a running web forward. Exit codes: 0 moved, 2 no web runs there."""
    from whimbrel.simweb.server.control import ask
    from whimbrel.simweb.server.serve import control_path

    answer = ask(control_path(state), {"do": "advance", "seconds": duration_s(by)})
    typer.echo(f"the clock of the web stands at {answer['now_s']} seconds since 1970")


@app.command()
def status(state: StateOption = DEFAULT_STATE) -> None:
    """Show, as JSON, the clock of a running web and how often each exhibit was served. Exit codes: 0, 2 no web runs
    there."""
    from whimbrel.simweb.server.control import ask
    from whimbrel.simweb.server.serve import control_path

    typer.echo(json.dumps(ask(control_path(state), {"do": "status"}), indent=2))
