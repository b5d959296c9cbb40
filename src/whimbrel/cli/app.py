"""The `whimbrel` command and how its errors are shown."""

import sys
from typing import Annotated, Final

import typer

from whimbrel import __version__
from whimbrel.cli import bench, config, crawl, demo, fetch, graph, query, simweb, status, verify, why
from whimbrel.commit.committed import NotACrawl
from whimbrel.flow.error import FlowError
from whimbrel.job.crawl import CrawlError
from whimbrel.job.options import OptionError
from whimbrel.simweb.server.control import ControlError
from whimbrel.simweb.server.listen import ListenError
from whimbrel.simweb.spec import SpecError
from whimbrel.state.rocks import StateError

_BENCH: Final = {"brotli", "cryptography", "dns", "h2", "warcio", "zstandard"}
"""What only the `bench` extra installs."""

app = typer.Typer(
    name="whimbrel",
    help="A parallel, distributed, migrating web crawler.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
app.command("crawl")(crawl.crawl)
app.command("resume")(crawl.resume)
app.command("status")(status.status)
app.command("why")(why.why)
app.command("verify")(verify.verify)
app.command("query")(query.query)
app.command("fetch")(fetch.fetch)
app.add_typer(config.app, name="config")
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
    except (FlowError, CrawlError, ControlError, ListenError, NotACrawl, OptionError, SpecError, StateError) as error:
        _end(str(error))
    except OSError as error:
        _end(f"{error.filename}: {error.strerror}" if error.filename else str(error))
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in _BENCH:
            raise
        _end(f"{error.name} is missing; the simulated web needs: pip install 'whimbrel[bench]'")


def _end(message: str) -> None:
    typer.echo(f"whimbrel: {message}", err=True)
    sys.exit(2)
