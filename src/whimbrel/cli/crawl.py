"""`whimbrel crawl` and `whimbrel resume`."""

import sys
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer
from rich.console import Console

from whimbrel.cli.board import attend_with
from whimbrel.cli.display import ProgressDisplay, plain_console
from whimbrel.cli.log import JsonLog
from whimbrel.cli.summary import print_summary, summary
from whimbrel.job.configure import seeds as seeds_of
from whimbrel.job.crawl import crawl as run_crawl
from whimbrel.job.crawl import plan_of
from whimbrel.job.crawl import resume as run_resume
from whimbrel.job.options import JOB_FILE, CrawlOptions, Given, OptionError, combined, environment, read_job
from whimbrel.job.parts import wiring_names
from whimbrel.job.progress import Result
from whimbrel.job.setting import parsed_changes, parsed_settings

_COMMAND_LINE = "command line"


class Log(StrEnum):
    TEXT = "text"
    JSON = "json"


def crawl(
    seeds: Annotated[list[str] | None, typer.Argument(metavar="SEED...", help="URLs to begin with.")] = None,
    into: Annotated[Path | None, typer.Option(help="Directory for the crawl.", show_default="HOST-DATE")] = None,
    job: Annotated[Path | None, typer.Option(help="A job file; options given here win over it.")] = None,
    with_: Annotated[
        list[Path] | None,
        typer.Option("--with", metavar="FILE.py", help="Handlers, components and providers of your own."),
    ] = None,
    seeds_file: Annotated[
        str | None, typer.Option("--seeds", metavar="FILE", help="More seeds, one per line; - reads standard input.")
    ] = None,
    seeds_from: Annotated[
        tuple[str, str] | None,
        typer.Option("--seeds-from", metavar="URL SQL", help="More seeds, from a database: sqlite:///urls.db."),
    ] = None,
    sitemap: Annotated[bool | None, typer.Option("--sitemap", help="Look for /sitemap.xml on every host.")] = None,
    mode: Annotated[str | None, typer.Option(help="site or broad.", show_default="site")] = None,
    scope: Annotated[
        str | None, typer.Option(help="page, prefix, host, domain or any.", show_default="host; any in broad mode")
    ] = None,
    order: Annotated[str | None, typer.Option(help="breadth, depth or ascend.", show_default="breadth")] = None,
    follow: Annotated[
        str | None, typer.Option(help="links, or only those that handlers make.", show_default="links")
    ] = None,
    requisites: Annotated[
        bool | None, typer.Option("--requisites", help="Also images, styles and scripts, one hop out of scope.")
    ] = None,
    max_pages: Annotated[int | None, typer.Option(min=1, help="Stop after this many requests for pages.")] = None,
    max_pages_per_host: Annotated[int | None, typer.Option(min=1, help="1,000 in broad mode.")] = None,
    max_depth: Annotated[
        int | None,
        typer.Option(min=0, help="Hops from a seed; 0: no limit.", show_default="20; no limit with --follow handlers"),
    ] = None,
    max_time: Annotated[str | None, typer.Option(metavar="DURATION", help="Stop after this time: 10m.")] = None,
    max_bytes: Annotated[str | None, typer.Option(metavar="SIZE", help="Stop after this many bytes: 10GB.")] = None,
    max_file_size: Annotated[str | None, typer.Option(metavar="SIZE", help="Of one body.", show_default="20MB")] = None,
    max_rate: Annotated[str | None, typer.Option(metavar="SIZE/s", help="Of all traffic: 5MB/s.")] = None,
    max_pages_per_s: Annotated[float | None, typer.Option(help="Of all requests for pages.")] = None,
    delay: Annotated[
        str | None, typer.Option(metavar="DURATION", help="Between requests to a host, a domain, an address.")
    ] = None,
    connections: Annotated[int | None, typer.Option(min=1, help="Requests at once.", show_default="64")] = None,
    robots: Annotated[str | None, typer.Option(help="seed (strict) or rfc9309.", show_default="seed")] = None,
    user_agent: Annotated[str | None, typer.Option(help="How the crawler names itself.")] = None,
    contact: Annotated[str | None, typer.Option(metavar="URL|MAIL", help="Whom site owners can ask.")] = None,
    include: Annotated[list[str] | None, typer.Option(metavar="GLOB", help="Only URLs that match one.")] = None,
    exclude: Annotated[list[str] | None, typer.Option(metavar="GLOB", help="No URL that matches one.")] = None,
    mime: Annotated[list[str] | None, typer.Option(metavar="TYPE", help="Types whose bodies are kept.")] = None,
    block: Annotated[
        list[str] | None, typer.Option(metavar="HOST", help="A host or domain not to visit, or a pattern of URLs.")
    ] = None,
    header: Annotated[list[str] | None, typer.Option(metavar="K:V", help="A further request header.")] = None,
    cookies: Annotated[
        Path | None, typer.Option(exists=True, dir_okay=False, help="A file of cookies to send.")
    ] = None,
    proxy: Annotated[str | None, typer.Option(metavar="URL", help="A proxy for all requests.")] = None,
    allow_network: Annotated[
        list[str] | None, typer.Option(metavar="CIDR", help="A private network that may be crawled.")
    ] = None,
    resolver: Annotated[str | None, typer.Option(metavar="HOST:PORT", help="Name server.")] = None,
    ca: Annotated[Path | None, typer.Option(exists=True, dir_okay=False, help="Trusted certificates.")] = None,
    control: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS:PORT", help="Where `whimbrel control` reaches it; or off.", show_default="127.0.0.1:0"
        ),
    ] = None,
    wiring: Annotated[str | None, typer.Option(help="A wiring or a TOML file.", show_default="standalone")] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="PART.KEY=VALUE", help="A setting of one part.")
    ] = None,
    dashboard: Annotated[
        str | None, typer.Option(metavar="[ADDRESS:PORT]", help="Show it in the browser; alone: any free port.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Check everything, crawl nothing.")] = False,
    log: Annotated[Log, typer.Option(help="On the way: text, or JSON lines on standard error.")] = Log.TEXT,
    json_: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
) -> None:
    """Crawl from seeds into a directory: a web archive, and tables that answer SQL.

    Every list option may be repeated. Exit codes: 0 done, 1 failed, 2 usage, 3 stopped with work left.
    """
    # Most parameters are options of the same name.
    named = {key: value for key, value in locals().items() if key in CrawlOptions.__struct_fields__}
    files = {"cookies": cookies, "ca": ca}
    found = named | {
        **{key: None if path is None else str(path.resolve()) for key, path in files.items()},
        "wiring": None if wiring is None else _wiring(wiring),
        "with_files": [str(path.resolve()) for path in with_ or ()] or None,
        "set": parsed_settings(set_ or []) or None,
        "seeds": [*_all_seeds(seeds or [], seeds_file), *_database_seeds(seeds_from)] or None,
    }
    given = _given(found, job)
    directory = into or _default_directory(given)
    if dry_run:
        plan_of(given, directory)
        typer.echo(f"The job is sound. It would crawl into {directory}.")
        return
    console = plain_console(stderr=json_ or log == "json")
    with JsonLog() if log == "json" else ProgressDisplay(console) as display:
        result = run_crawl(given, directory, display.show, display.say, attend=attend_with(dashboard))
    _end(console, directory, result, as_json=json_)


def resume(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="The crawl's directory.")],
    with_: Annotated[
        list[Path] | None, typer.Option("--with", metavar="FILE.py", help="Other files of handlers than before.")
    ] = None,
    max_pages: Annotated[int | None, typer.Option(min=1, help="Another limit; earlier requests count.")] = None,
    max_pages_per_host: Annotated[int | None, typer.Option(min=1, help="Another limit; likewise.")] = None,
    max_time: Annotated[str | None, typer.Option(metavar="DURATION", help="Another limit, from now on.")] = None,
    max_bytes: Annotated[str | None, typer.Option(metavar="SIZE", help="Another limit; earlier bytes count.")] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="An option, or PART.KEY for a setting of one part."),
    ] = None,
    dashboard: Annotated[
        str | None, typer.Option(metavar="[ADDRESS:PORT]", help="Show it in the browser; alone: any free port.")
    ] = None,
    log: Annotated[Log, typer.Option(help="On the way: text, or JSON lines on standard error.")] = Log.TEXT,
    json_: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
) -> None:
    """Go on with a crawl, however it ended: stopped, killed, out of disk, or out of power.

    What is given here holds until it ends; the job in the directory stays as it is. A change that the crawl's files do
    not allow is refused, with the reason. Exit codes: 0 done, 1 failed, 2 usage, 3 stopped with work left.
    """
    path = directory / JOB_FILE
    layers: list[tuple[str, dict[str, Any]]] = [(JOB_FILE, read_job(path) if path.exists() else {})]
    found = {
        "with_files": [str(path.resolve()) for path in with_ or ()] or None,
        "max_pages": max_pages,
        "max_pages_per_host": max_pages_per_host,
        "max_time": max_time,
        "max_bytes": max_bytes,
        **parsed_changes(set_ or []),
    }
    layers.append((_COMMAND_LINE, {key: value for key, value in found.items() if value is not None}))
    console = plain_console(stderr=json_ or log == "json")
    with JsonLog() if log == "json" else ProgressDisplay(console) as display:
        result = run_resume(combined(layers), directory, display.show, display.say, attend=attend_with(dashboard))
    _end(console, directory, result, as_json=json_)


def _given(found: dict[str, Any], job: Path | None) -> Given:
    layers: list[tuple[str, dict[str, Any]]] = []
    if job is not None:
        layers.append((str(job), read_job(job)))
    layers.append(("environment", environment()))
    layers.append((_COMMAND_LINE, {key: value for key, value in found.items() if value is not None}))
    return combined(layers)


def _all_seeds(named: list[str], file: str | None) -> list[str]:
    if file is None:
        return named
    try:
        text = sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise OptionError(f"--seeds {file}: {error}") from error
    lines = (line.strip() for line in text.splitlines())
    return [*named, *(line for line in lines if line and not line.startswith("#"))]


def _database_seeds(asked: tuple[str, str] | None) -> list[str]:
    from whimbrel.job.database import seeds_from

    return [] if asked is None else seeds_from(*asked)


def _wiring(name: str) -> str:
    """A file is named in full, so that the crawl can be resumed from anywhere."""
    return name if name in wiring_names() else str(Path(name).resolve())


def _default_directory(given: Given) -> Path:
    found = seeds_of(given.options)
    if not found:
        raise OptionError("there is no seed; name a URL, or a file of URLs with --seeds")
    return Path(f"{found[0].host.strip('[]')}-{datetime.now(UTC):%Y-%m-%d}")


def _end(console: Console, directory: Path, result: Result, *, as_json: bool) -> None:
    if as_json:
        typer.echo(msgspec.json.format(msgspec.json.encode(summary(directory, result)), indent=2).decode())
    else:
        print_summary(console, directory, result)
    raise typer.Exit(result.exit_code)
