"""`whimbrel crawl` and `whimbrel resume`."""

import sys
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from whimbrel.cli import option
from whimbrel.cli.display import ProgressDisplay
from whimbrel.cli.log import JsonLog
from whimbrel.cli.summary import print_summary, summary
from whimbrel.dashboard.process import attend_with
from whimbrel.effect.seeding import Requeued
from whimbrel.job.crawl import crawl as run_crawl
from whimbrel.job.crawl import plan_of
from whimbrel.job.options import JOB_FILE, CrawlOptions, OptionError, ResolvedOptions, combined, environment, read_job
from whimbrel.job.parts import wiring_names
from whimbrel.job.resume import resume as run_resume
from whimbrel.job.run_result import RunResult
from whimbrel.job.seed import own_host_note, own_hosts, require_seed, seed_url
from whimbrel.job.setting import parsed_changes, parsed_settings
from whimbrel.terminal import plain_console

_COMMAND_LINE = "command line"


def crawl(
    seeds: option.Seeds = None,
    into: option.Into = None,
    job: option.Job = None,
    with_: option.With = None,
    seeds_file: option.SeedsFile = None,
    seeds_from: option.SeedsFrom = None,
    sitemap: option.Sitemap = None,
    mode: option.Mode = None,
    scope: option.Scope = None,
    order: option.Order = None,
    follow: option.Follow = None,
    requisites: option.Requisites = None,
    max_pages: option.MaxPages = None,
    max_pages_per_host: option.MaxPagesPerHost = None,
    max_depth: option.MaxDepth = None,
    max_time: option.MaxTime = None,
    max_bytes: option.MaxBytes = None,
    max_file_size: option.MaxFileSize = None,
    max_rate: option.MaxRate = None,
    max_pages_per_s: option.MaxPagesPerS = None,
    delay: option.Delay = None,
    connections: option.Connections = None,
    robots: option.Robots = None,
    user_agent: option.UserAgent = None,
    contact: option.Contact = None,
    include: option.Include = None,
    exclude: option.Exclude = None,
    mime: option.Mime = None,
    block: option.Block = None,
    header: option.Header = None,
    cookies: option.Cookies = None,
    proxy: option.Proxy = None,
    allow_network: option.AllowNetwork = None,
    resolver: option.Resolver = None,
    ca: option.Ca = None,
    control: option.Control = None,
    wiring: option.Wiring = None,
    set_: option.Set = None,
    dashboard: option.Dashboard = None,
    dry_run: option.DryRun = False,
    log: option.LogOption = option.LogFormat.TEXT,
    json_: option.JsonOption = False,
) -> None:
    """Crawl from seeds into a directory: a web archive, and tables that answer SQL.

    Every list option may be repeated. Exit codes: 0 done, or ended by a limit of pages, time or bytes that you set; 1
    failed (also: nothing could be fetched, or handlers failed on every page); 2 usage; 3 stopped with work left.
    """
    named = {key: value for key, value in locals().items() if key in CrawlOptions.__struct_fields__}
    found = named | {
        "wiring": wiring and _wiring(wiring),
        "with_files": list(map(str, with_ or ())) or None,
        "set": parsed_settings(set_ or []) or None,
        "seeds": [*_all_seeds(seeds or [], seeds_file), *_database_seeds(seeds_from)] or None,
    }
    own = own_hosts(seeds or [])
    given = _given(found, job)
    if own:
        hosts = list(dict.fromkeys((*given.options.allow_host, *chain(*own.values()))))
        given = _given(found | {"allow_host": hosts}, job)
    if dry_run:
        _check(given, into or _default_directory(given))
    else:
        notes = map(own_host_note, own)
        _run(run_crawl, given, into or _default_directory(given), dashboard, log, as_json=json_, notes=notes)


def resume(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="The crawl's directory.")],
    with_: Annotated[
        list[Path] | None, typer.Option("--with", metavar="FILE.py", help="Other files of handlers than before.")
    ] = None,
    max_pages: Annotated[int | None, typer.Option(min=1, help="Another limit; earlier requests count.")] = None,
    max_pages_per_host: Annotated[int | None, typer.Option(min=1, help="Another limit; likewise.")] = None,
    max_time: Annotated[str | None, typer.Option(metavar="DURATION", help="Another limit, from now on.")] = None,
    max_bytes: Annotated[str | None, typer.Option(metavar="SIZE", help="Another limit; earlier bytes count.")] = None,
    allow_network: Annotated[
        list[str] | None,
        typer.Option(metavar="CIDR", help="Private networks instead of those before; what was refused is tried again."),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="An option, or PART.KEY for a setting of one part."),
    ] = None,
    dashboard: option.Dashboard = None,
    log: option.LogOption = option.LogFormat.TEXT,
    json_: option.JsonOption = False,
) -> None:
    """Go on with a crawl, however it ended: stopped, killed, out of disk, or out of power.

    What is given here holds until it ends; the job in the directory stays as it is. A change that the crawl's files do
    not allow is refused, with the reason. Exit codes: 0 done, or ended by a limit of pages, time or bytes that you set;
    1 failed (also: handlers failed on every page of this run); 2 usage; 3 stopped with work left.
    """
    path = directory / JOB_FILE
    layers: list[tuple[str, dict[str, Any]]] = [(JOB_FILE, read_job(path) if path.exists() else {})]
    found = {
        "with_files": [str(path.resolve()) for path in with_ or ()] or None,
        "max_pages": max_pages,
        "max_pages_per_host": max_pages_per_host,
        "max_time": max_time,
        "max_bytes": max_bytes,
        "allow_network": allow_network,
        **parsed_changes(set_ or []),
    }
    layers.append((_COMMAND_LINE, {key: value for key, value in found.items() if value is not None}))
    given = combined(layers)
    again = _refused_as_private(directory, given) if "allow_network" in layers[-1][1] else []
    _run(partial(run_resume, again=again), given, directory, dashboard, log, as_json=json_)


def _refused_as_private(directory: Path, given: ResolvedOptions) -> list[Requeued]:
    from whimbrel.control.requeue import refused_as_private  # DuckDB: not for every crawl that goes on

    return refused_as_private(directory, given)


def _check(given: ResolvedOptions, directory: Path) -> None:
    plan_of(given, directory)
    typer.echo(f"The job is sound. It would crawl into {directory}.")


def _given(found: dict[str, Any], job: Path | None) -> ResolvedOptions:
    layers: list[tuple[str, dict[str, Any]]] = []
    if job is not None:
        layers.append((str(job), _checked_seeds(job, read_job(job))))
    layers.append(("environment", environment()))
    plain = {key: str(value) if isinstance(value, Path) else value for key, value in found.items()}
    layers.append((_COMMAND_LINE, {key: value for key, value in plain.items() if value is not None}))
    return combined(layers)


def _checked_seeds(path: Path, found: dict[str, Any]) -> dict[str, Any]:
    """OptionError with file and line for a seed in a job file that is no URL."""
    seeds = found.get("seeds")
    for seed in seeds if isinstance(seeds, list) else ():
        try:
            seed_url(seed if isinstance(seed, str) else repr(seed))
        except OptionError as error:
            lines = path.read_text(encoding="utf-8").splitlines()
            number = next((number for number, line in enumerate(lines, 1) if str(seed) in line), None)
            raise OptionError(f"{path}{'' if number is None else f', line {number}'}: {error}") from error
    return found


def _all_seeds(named: list[str], file: str | None) -> list[str]:
    if file is None:
        return named
    try:
        text = sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise OptionError(f"--seeds {file}: {error}") from error
    found: list[str] = []
    for number, line in enumerate(map(str.strip, text.splitlines()), 1):
        if line and not line.startswith("#"):
            try:
                seed_url(line)
            except OptionError as error:
                where = "standard input" if file == "-" else file
                raise OptionError(f"--seeds: {where}, line {number}: {error}") from error
            found.append(line)
    return [*named, *found]


def _database_seeds(asked: tuple[str, str] | None) -> list[str]:
    from whimbrel.job.database import seeds_from

    return [] if asked is None else seeds_from(*asked)


def _wiring(name: str) -> str:
    """A file is named in full, so that the crawl can be resumed from anywhere."""
    return name if name in wiring_names() else str(Path(name).resolve())


def _default_directory(given: ResolvedOptions) -> Path:
    host = seed_url(require_seed(given.options)).host
    return Path(f"{host.strip('[]')}-{datetime.now(UTC):%Y-%m-%d}")


def _run(
    run: Callable[..., RunResult],
    given: ResolvedOptions,
    directory: Path,
    dashboard: str | None,
    log: option.LogFormat,
    *,
    as_json: bool,
    notes: Iterable[str] = (),
) -> None:
    """Crawl or resume, tell of it on the way, and end with the summary and the exit code."""
    console = plain_console(stderr=as_json or log is option.LogFormat.JSON)
    with JsonLog() if log is option.LogFormat.JSON else ProgressDisplay(console) as display:
        for note in notes:
            display.say(note)
        result = run(given, directory, display.show, display.say, attend=attend_with(dashboard))
    if as_json:
        typer.echo(msgspec.json.format(msgspec.json.encode(summary(directory, result)), indent=2).decode())
    else:
        print_summary(console, directory, result)
    raise typer.Exit(result.exit_code)
