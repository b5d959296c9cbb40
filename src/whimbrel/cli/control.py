"""`whimbrel control`: watch and steer a crawl that runs."""

import getpass
import os
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from whimbrel.cli.display import one_line
from whimbrel.control.api import (
    Abort,
    Action,
    Add,
    Allow,
    Bind,
    Block,
    Checkpoint,
    Joint,
    NotRunning,
    Pause,
    Remove,
    Requeue,
    Seed,
    Set,
    Speed,
    Stop,
    Unblock,
    Unpause,
)
from whimbrel.control.client import Control
from whimbrel.job.options import OptionError
from whimbrel.job.setting import setting_value
from whimbrel.job.unit import duration_s, size_bytes
from whimbrel.terminal import json_text, plain_console, printable, size

app = typer.Typer(
    no_args_is_help=True,
    help="Watch and steer a crawl that runs on this machine. Exit codes: 0 done, 1 the crawl said no, 2 no crawl runs "
    "there, or usage.",
)
Json = Annotated[bool, typer.Option("--json", help="Print the answer as JSON.")]
Settings = Annotated[list[str], typer.Argument(metavar="KEY=VALUE...", help="Values are read as TOML, else as text.")]


@app.callback()
def control(
    context: typer.Context,
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="The crawl's directory.")],
) -> None:
    """Watch and steer a crawl that runs on this machine."""
    context.obj = directory


@app.command()
def status(context: typer.Context, json_: Json = False) -> None:
    """The crawl at this moment, and what is wrong with it."""
    found = _control(context).status()
    if json_:
        typer.echo(json_text(msgspec.to_builtins(found)))
        return
    console = plain_console()
    console.print(f"{found.state}, commit {found.commit:,}, {size(found.memory_bytes)}", highlight=False)
    console.print(printable(one_line(found.progress)), highlight=False, markup=False)
    for warning in found.warnings:
        console.print(f"{warning.code}: {printable(warning.cause)}", style="yellow", markup=False, highlight=False)
        console.print(f"  {printable(warning.remedy)}", style="dim", markup=False, highlight=False)


@app.command()
def pause(context: typer.Context, json_: Json = False) -> None:
    """Begin no more requests; those under way end."""
    _carry_out(context, Pause(), json_=json_)


@app.command()
def unpause(context: typer.Context, json_: Json = False) -> None:
    """Go on after a pause."""
    _carry_out(context, Unpause(), json_=json_)


@app.command()
def stop(context: typer.Context, json_: Json = False) -> None:
    """Let the visits under way end, then end the crawl; `whimbrel resume` goes on later."""
    _carry_out(context, Stop(), json_=json_)


@app.command()
def abort(context: typer.Context, json_: Json = False) -> None:
    """End the crawl now. Visits under way are made again after `whimbrel resume`."""
    _carry_out(context, Abort(), json_=json_)


@app.command()
def checkpoint(context: typer.Context, json_: Json = False) -> None:
    """Commit; returns when everything up to now is durable."""
    _carry_out(context, Checkpoint(), json_=json_)


@app.command()
def speed(
    context: typer.Context,
    pages_per_s: Annotated[
        float | None, typer.Argument(metavar="PAGES/S", min=0, help="Requests for pages per second; 0: no limit.")
    ] = None,
    bytes_per_s: Annotated[
        str | None, typer.Option("--bytes", metavar="SIZE/s", help="Of all traffic: 5MB/s; 0: no limit.")
    ] = None,
    connections: Annotated[int | None, typer.Option(min=1, help="Requests at once.")] = None,
    delay: Annotated[
        str | None,
        typer.Option(metavar="DURATION", help="Between two requests to a host; default: what the mode says."),
    ] = None,
    of: Annotated[str, typer.Option(metavar="HOST", help="The host or domain that --delay is for.")] = "",
    json_: Json = False,
) -> None:
    """Go faster or slower: in all, or with one host or domain."""
    action = Speed(
        pages_per_s=pages_per_s,
        bytes_per_s=None if bytes_per_s is None else size_bytes(bytes_per_s),
        connections=connections,
        delay_s=None if delay is None else "default" if delay == "default" else duration_s(delay),
        of=of,
    )
    _carry_out(context, action, json_=json_)


@app.command()
def block(
    context: typer.Context,
    what: Annotated[
        list[str],
        typer.Argument(metavar="WHAT...", help="Hosts, domains, HOST:PORT, sites, and patterns with * of URLs."),
    ],
    json_: Json = False,
) -> None:
    """Make no more requests to hosts, domains and sites, whose queues wait, or for URLs that match a pattern.

    Where no crawl runs, the job is changed, and it holds from `resume` on."""
    _carry_out(context, Block(tuple(what)), json_=json_)


@app.command()
def unblock(
    context: typer.Context,
    what: Annotated[list[str], typer.Argument(metavar="WHAT...", help="As they were blocked.")],
    json_: Json = False,
) -> None:
    """The reverse of block: queues go on; where no crawl runs, with `resume`."""
    _carry_out(context, Unblock(tuple(what)), json_=json_)


@app.command()
def allow(
    context: typer.Context,
    host: Annotated[str, typer.Argument(metavar="HOST", help="With scheme and port where they are not the usual.")],
    without_robots: Annotated[
        bool, typer.Option("--without-robots", help="Visit it although its robots.txt cannot be obtained.")
    ] = False,
    json_: Json = False,
) -> None:
    """Ask a host that is disqualified, parked or given up again, at once."""
    _carry_out(context, Allow(host, without_robots), json_=json_)


@app.command()
def seed(
    context: typer.Context,
    urls: Annotated[list[str], typer.Argument(metavar="URL...", help="Without a scheme, https.")],
    json_: Json = False,
) -> None:
    """More URLs to begin with; the scope goes along."""
    _carry_out(context, Seed(tuple(urls)), json_=json_)


@app.command()
def requeue(
    context: typer.Context,
    outcome: Annotated[str, typer.Option(help="How they ended: failed, gone or denied.")] = "failed",
    reason: Annotated[str, typer.Option(help="Only those with this reason: timeout, http-500.")] = "",
    host: Annotated[str, typer.Option(help="Only those of this host.")] = "",
    most: Annotated[int, typer.Option(min=1, help="At most so many.")] = 1_000_000,
    json_: Json = False,
) -> None:
    """Visit URLs once more that ended without a page."""
    given = {"outcome": outcome, "reason": reason, "host": host, "most": most}
    try:
        action = msgspec.convert(given, Requeue)
    except msgspec.ValidationError as error:
        raise OptionError(f"requeue: {error}; outcome is failed, gone or denied") from error
    _carry_out(context, action, json_=json_)


@app.command("set")
def set_(context: typer.Context, settings: Settings, json_: Json = False) -> None:
    """Change options and settings: order=depth router.max_depth=5 seen.use=bloom-seen parser.instances=2."""
    _carry_out(context, Set(_parsed(settings)), json_=json_)


@app.command()
def bind(
    context: typer.Context,
    provider: Annotated[str, typer.Argument(metavar="PROVIDER", help="Its name in the wiring.")],
    use: Annotated[str, typer.Argument(metavar="USE", help="What takes its place: a registered name.")],
    settings: Annotated[list[str] | None, typer.Argument(metavar="[KEY=VALUE]...", help="Its settings.")] = None,
    json_: Json = False,
) -> None:
    """Put another provider in the place of one: bind seen bloom-seen."""
    _carry_out(context, Bind(provider, use, _parsed(settings or [])), json_=json_)


@app.command()
def add(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Its name in the wiring.")],
    use: Annotated[str, typer.Argument(metavar="USE", help="A registered name.")],
    connect: Annotated[
        list[str] | None, typer.Option(metavar="A.OUT>B.IN", help="A connector to make; may be repeated.")
    ] = None,
    part: Annotated[
        list[str] | None, typer.Option(metavar="A.OUT>B.IN", help="A connector to take away; may be repeated.")
    ] = None,
    need: Annotated[
        list[str] | None, typer.Option(metavar="NEED=PROVIDER", help="A provider it needs; may be repeated.")
    ] = None,
    config: Annotated[list[str] | None, typer.Option(metavar="KEY=VALUE", help="A setting; may be repeated.")] = None,
    instances: Annotated[int, typer.Option(min=1, help="How many side by side.")] = 1,
    json_: Json = False,
) -> None:
    """Add a component to the running wiring."""
    action = Add(
        name=name,
        use=use,
        config=_parsed(config or []),
        needs={key: str(value) for key, value in _parsed(need or []).items()},
        instances=instances,
        connectors=tuple(map(_joint, connect or ())),
        parts=tuple(map(_joint, part or ())),
    )
    _carry_out(context, action, json_=json_)


@app.command()
def remove(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Its name in the wiring.")],
    connect: Annotated[
        list[str] | None, typer.Option(metavar="A.OUT>B.IN", help="A connector to make; may be repeated.")
    ] = None,
    json_: Json = False,
) -> None:
    """Remove a component from the running wiring, with the connectors that touch it."""
    _carry_out(context, Remove(name, tuple(map(_joint, connect or ()))), json_=json_)


@app.command()
def config(context: typer.Context) -> None:
    """The effective configuration, as JSON."""
    typer.echo(json_text(msgspec.to_builtins(_control(context).config())))


@app.command()
def wiring(context: typer.Context) -> None:
    """The live wiring with counts, as JSON."""
    typer.echo(json_text(msgspec.to_builtins(_control(context).wiring())))


@app.command()
def metrics(context: typer.Context) -> None:
    """All metrics, as Prometheus reads them."""
    typer.echo(_control(context).metrics())


def _control(context: typer.Context) -> Control:
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = str(os.getuid())
    return Control(context.obj, caller=f"{user} (command line)")


def _carry_out(context: typer.Context, action: Action, *, json_: bool) -> None:
    try:
        done = _control(context).carry_out(action)
    except NotRunning:
        if not isinstance(action, Block | Unblock):
            raise
        from whimbrel.offline.block_change import change_block  # RocksDB: not for every action

        done = change_block(context.obj, action)
    typer.echo(json_text(msgspec.to_builtins(done)) if json_ else printable(done.effect))


def _parsed(texts: list[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise OptionError(f"{text}: write KEY=VALUE")
        found[name.strip()] = setting_value(value.strip())
    return found


def _joint(text: str) -> Joint:
    source, arrow, target = text.partition(">")
    if not arrow:
        raise OptionError(f"{text}: write COMPONENT.PORT>COMPONENT.PORT")
    return Joint(source.strip(), target.strip())
