"""`whimbrel crawl`."""

import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from whimbrel.cli.display import ProgressDisplay
from whimbrel.cli.unit import duration_s
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
    resolver: Annotated[str, typer.Option(metavar="ADDRESS:PORT", help="Name server; the system's by default.")] = "",
    ca: Annotated[Path | None, typer.Option(help="Trusted certificates instead of the system's.")] = None,
    allow_network: Annotated[
        list[str] | None, typer.Option(metavar="CIDR", help="A private network that may be crawled; may be repeated.")
    ] = None,
    with_: Annotated[
        list[Path] | None, typer.Option("--with", metavar="FILE.py", help="Components and providers of your own.")
    ] = None,
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
    )
    console = Console(stderr=json_)
    with ProgressDisplay(console) as display:
        result = run_crawl(options, display.show)
    if json_:
        typer.echo((options.into / "summary.json").read_text(encoding="utf-8"), nl=False)
    else:
        print_summary(console, options, result)
    raise typer.Exit(exit_code(result))


def _seed(text: str) -> Url:
    """A seed as a person writes it; without a scheme, https."""
    has_scheme = re.match(r"[A-Za-z][A-Za-z0-9+.-]*:(?!\d)", text) is not None
    url = parse(text if has_scheme else f"https://{text}")
    if url is None:
        raise CrawlError(f"{text!r} is not an http or https URL")
    return url


def exit_code(result: Result) -> int:
    """The job's, and 3 when the frontier still has work."""
    code = result.report.exit_code
    return 3 if code == 0 and result.progress.queued else code


def print_summary(console: Console, options: CrawlOptions, result: Result) -> None:
    progress, report = result.progress, result.report
    console.print(
        f"[bold]{report.state}[/bold]: {progress.visited:,} visits in {progress.elapsed_s:.1f} s "
        f"({progress.pages_per_s:,.0f}/s), {progress.bytes / 1e6:,.1f} MB",
        highlight=False,
    )
    table = Table(box=None, padding=(0, 2), show_header=False)
    for outcome, count in sorted(progress.outcomes.items(), key=lambda item: -item[1]):
        table.add_row(outcome, f"{count:,}")
    for reason, count in sorted(result.refused.items(), key=lambda item: -item[1]):
        table.add_row(f"links not queued: {reason}", f"{count:,}")
    console.print(table)
    for line in report.lines()[1:]:
        console.print(line, style="red", markup=False)
    if progress.queued:
        console.print(f"{progress.queued:,} URLs are still queued.")
    console.print(f"The outcome of every URL is in {options.into / 'outcomes.jsonl'}", highlight=False, markup=False)


def as_json(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)
