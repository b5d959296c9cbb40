"""The `whimbrel` command and how its errors are shown."""

import sys
from typing import Annotated

import typer

from whimbrel import __version__
from whimbrel.cli import bench, crawl, demo, graph, simweb
from whimbrel.flow.error import FlowError
from whimbrel.job.crawl import CrawlError
from whimbrel.simweb.server.control import ControlError
from whimbrel.simweb.server.listen import ListenError
from whimbrel.simweb.spec import SpecError

app = typer.Typer(
    name="whimbrel",
    help="A parallel, distributed, migrating web crawler.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
app.command("crawl")(crawl.crawl)
app.command("demo")(demo.demo)
app.command("graph")(graph.graph)
app.add_typer(simweb.app, name="simweb")
app.add_typer(bench.app, name="bench")


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"whimbrel {__version__}")
        raise typer.Exit


@app.callback()
def _whimbrel(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """A parallel, distributed, migrating web crawler."""


def main() -> None:
    """The entry point: expected errors end in one clear line, not in a traceback."""
    try:
        app()
    except (FlowError, CrawlError, ControlError, ListenError, SpecError) as error:
        typer.echo(f"whimbrel: {error}", err=True)
        sys.exit(2)
