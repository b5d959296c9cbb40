"""`whimbrel demo`: the main job on an embedded default."""

import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.console import Console

from whimbrel.archive.api import Record
from whimbrel.cli.crawl import exit_code, print_summary
from whimbrel.cli.display import ProgressDisplay
from whimbrel.job.crawl import CrawlError, CrawlOptions
from whimbrel.job.crawl import crawl as run_crawl
from whimbrel.simweb.preset import Preset, spec_of
from whimbrel.simweb.server.serve import Running
from whimbrel.simweb.truth import Truth
from whimbrel.simweb.web import Web

_START_S = 20.0


def demo(
    into: Annotated[Path, typer.Option(help="Directory for the result.")] = Path("demo-crawl"),
    again: Annotated[bool, typer.Option("--again/--keep", help="Replace the result of an earlier demo.")] = True,
) -> None:
    """Start a small simulated web on this machine, crawl it, and compare the result with the truth.

    Needs no network. Exit codes: 0 the result equals the truth, 1 it does not or the crawl failed, 2 usage.
    """
    if into.exists() and (into / "summary.json").exists() and again:
        shutil.rmtree(into)
    console = Console()
    console.rule("[bold]a simulated web")
    with _served() as running:
        spec = msgspec.structs.replace(spec_of(Preset.DEMO), http_port=running.http_port, https_port=running.https_port)
        web = Web(spec)
        console.print(f"{spec.hosts} hosts with {spec.pages} pages each, on loopback; seed {running.seeds[0]}")
        console.rule("[bold]the crawl")
        options = CrawlOptions(
            seeds=tuple(running.seeds),
            into=into,
            scope="any",
            delay_s=0.0,
            resolver=f"127.0.0.1:{running.dns_port}",
            ca=running.ca,
            allow_networks=("127.0.0.0/8",),
        )
        with ProgressDisplay(console) as display:
            result = run_crawl(options, display.show)
        print_summary(console, options, result)
    console.rule("[bold]the truth")
    wrong = compare(into / "outcomes.jsonl", web, running.seeds)
    if wrong:
        # A URL can be 10 KB long.
        for line in wrong[:20]:
            console.print(line[:200], style="red", markup=False)
        console.print(f"{len(wrong)} URLs differ from the truth.", style="bold red")
        raise typer.Exit(1)
    console.print(
        "Every URL that a correct crawl finds was found, with the right outcome, and no other.", style="green"
    )
    console.rule("[bold]try next")
    for command in (
        "whimbrel graph standalone             the crawler as a drawing",
        "whimbrel simweb faults                everything that a crawler must survive",
        "whimbrel simweb serve --preset wild   a web with all of it",
        "whimbrel bench flow                   what a hop between components costs",
    ):
        console.print(f"  .venv/bin/{command}", highlight=False)
    raise typer.Exit(exit_code(result))


@contextmanager
def _served() -> Iterator[Running]:
    """A simulated web in a process of its own."""
    with tempfile.TemporaryDirectory(prefix="whimbrel-demo-") as folder:
        command = [sys.executable, "-m", "whimbrel", "simweb", "serve", "--preset", "demo", "--free-ports"]
        server = subprocess.Popen([*command, "--state", folder], stdout=subprocess.DEVNULL)  # noqa: S603
        try:
            yield _wait_for(server, Path(folder) / "simweb.json")
        finally:
            server.terminate()
            server.wait(10)


def _wait_for(server: subprocess.Popen[bytes], path: Path) -> Running:
    deadline = time.monotonic() + _START_S
    while not path.exists():
        if server.poll() is not None or time.monotonic() > deadline:
            raise CrawlError("the simulated web did not start; see the message above")
        time.sleep(0.02)
    return msgspec.json.decode(path.read_bytes(), type=Running)


def compare(outcomes: Path, web: Web, seeds: list[str]) -> list[str]:
    """What differs between a crawl's outcomes and the truth, one line per URL."""
    lines = outcomes.read_bytes().splitlines()
    found = {record.url: record for record in (msgspec.json.decode(line, type=Record) for line in lines)}
    wrong = [f"visited twice: {len(lines) - len(found)} URLs"] if len(found) < len(lines) else []
    truth = {row.url: row for row in Truth(web, seeds).rows() if row.outcome != "dropped"}
    for url, row in truth.items():
        record = found.get(url)
        if record is None:
            wrong.append(f"not visited: {url} (truth: {row.outcome})")
        elif (record.outcome, record.reason) != (row.outcome, row.reason):
            wrong.append(f"{url}: {record.outcome} ({record.reason}), truth: {row.outcome} ({row.reason})")
    return wrong + [f"not of this web: {url}" for url in found.keys() - truth.keys()]
