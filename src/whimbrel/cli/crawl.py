"""`whimbrel crawl`."""

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from whimbrel.cli.display import ProgressDisplay, plain_console
from whimbrel.cli.unit import duration_s, server_address
from whimbrel.job.crawl import CrawlError, CrawlOptions, Result
from whimbrel.job.crawl import crawl as run_crawl
from whimbrel.url import Url, parse


def crawl(
    seeds: Annotated[list[str], typer.Argument(metavar="SEED...", help="URLs to begin with; without a scheme, https.")],
    into: Annotated[Path | None, typer.Option(help="Directory for the result; ./HOST-DATE by default.")] = None,
    scope: Annotated[str, typer.Option(help="host (the seeds' hosts) or any.")] = "host",
    max_pages: Annotated[int | None, typer.Option(min=1, help="Stop after this many visits.")] = None,
    max_depth: Annotated[int, typer.Option(min=0, help="Hops from a seed.")] = 20,
    delay: Annotated[str, typer.Option(help="From the end of a visit to the next on the same host.")] = "1s",
    connections: Annotated[int, typer.Option(min=1, max=10_000, help="Visits under way at once.")] = 32,
    user_agent: Annotated[str, typer.Option(help="How the crawler names itself.")] = "whimbrel",
    resolver: Annotated[
        str, typer.Option(metavar="ADDRESS:PORT", callback=server_address, help="Name server; the system's by default.")
    ] = "",
    ca: Annotated[
        Path | None, typer.Option(exists=True, dir_okay=False, help="Trusted certificates instead of the system's.")
    ] = None,
    allow_network: Annotated[
        list[str] | None, typer.Option(metavar="CIDR", help="A private network that may be crawled; may be repeated.")
    ] = None,
    with_: Annotated[
        list[Path] | None, typer.Option("--with", metavar="FILE.py", help="Components and providers of your own.")
    ] = None,
    wiring: Annotated[
        str, typer.Option(metavar="WIRING", help="A wiring that Whimbrel ships, or a TOML file.")
    ] = "standalone",
    json_: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
) -> None:
    """Crawl from seeds and keep what became of every URL.

    This version honours no robots.txt yet and therefore goes to loopback addresses only: name them with
    --allow-network 127.0.0.0/8. Exit codes: 0 done, 1 failed, 2 usage, 3 stopped with work left.
    """
    urls = [_seed(seed) for seed in seeds]
    if scope not in ("host", "any"):
        raise typer.BadParameter("scope is host or any")
    options = CrawlOptions(
        seeds=tuple(url.text for url in urls),
        into=into or Path(f"{urls[0].host.strip('[]')}-{datetime.now(UTC):%Y-%m-%d}"),
        scope="host" if scope == "host" else "any",
        max_pages=max_pages,
        max_depth=max_depth,
        delay_s=duration_s(delay),
        connections=connections,
        user_agent=user_agent,
        resolver=resolver,
        ca=str(ca or ""),
        allow_networks=tuple(allow_network or ()),
        with_files=tuple(with_ or ()),
        wiring=wiring,
    )
    console = plain_console(stderr=json_)
    with ProgressDisplay(console) as display:
        result = run_crawl(options, display.show, display.say)
    if json_:
        typer.echo((options.into / "summary.json").read_text(encoding="utf-8"), nl=False)
    else:
        print_summary(console, options, result)
    raise typer.Exit(result.exit_code)


def _seed(text: str) -> Url:
    """A seed as a person writes it; without a scheme, https."""
    has_scheme = re.match(r"[A-Za-z][A-Za-z0-9+.-]*:(?!\d)", text) is not None
    url = parse(text if has_scheme else f"https://{text}")
    if url is None:
        raise CrawlError(f"{text!r} is not an http or https URL")
    return url


def print_summary(console: Console, options: CrawlOptions, result: Result) -> None:
    progress, report = result.progress, result.report
    console.print(
        f"[bold]{result.state}[/bold]: {progress.visited:,} visits in {progress.elapsed_s:.1f} s "
        f"({progress.pages_per_s:,.0f}/s), {progress.bytes / 1e6:,.1f} MB",
        highlight=False,
    )
    table = Table(box=None, padding=(0, 2), show_header=False)
    for reason, count in sorted(progress.reasons.items(), key=lambda item: -item[1]):
        table.add_row(*reason.split(" ", 1), f"{count:,}")
    for reason, count in sorted(result.refused.items(), key=lambda item: -item[1]):
        table.add_row("links not queued", reason, f"{count:,}")
    console.print(table)
    for line in report.lines()[1:]:
        console.print(line, style="red", markup=False)
    if progress.visited and progress.outcomes.get("failed", 0) == progress.visited:
        console.print("Nothing was fetched; the reasons above say why.", style="bold red")
    if progress.queued:
        console.print(f"{progress.queued:,} URLs are still queued.")
    file = options.into / "outcomes.jsonl"
    if file.exists():
        console.print(f"The outcome of every visit is in {file}", highlight=False, markup=False)
