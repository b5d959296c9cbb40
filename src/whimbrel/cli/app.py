"""The `whimbrel` command and how its errors are shown."""

import sys
from importlib import import_module
from typing import Annotated, Final

import typer

from whimbrel.cli.argv import with_default
from whimbrel.cli.standard_file import open_standard_files
from whimbrel.cli.thread_start import end_with_threads_that_cannot_begin
from whimbrel.error import WhimbrelError
from whimbrel.job.process_tuning import tune_memory
from whimbrel.shortage import is_refused_memory
from whimbrel.version import __version__

_COMMANDS: Final = {
    "crawl": "cli.crawl.crawl",
    "resume": "cli.crawl.resume",
    "status": "cli.status.status",
    "why": "cli.why.why",
    "control": "cli.control.app",
    "dashboard": "cli.dashboard.dashboard",
    "verify": "cli.verify.verify",
    "query": "cli.query.query",
    "get": "cli.get.get",
    "reparse": "cli.reparse.reparse",
    "import": "cli.importing.import_",
    "new": "cli.new.new",
    "fetch": "cli.fetch.fetch",
    "config": "cli.config.app",
    "demo": "cli.demo.demo",
    "graph": "cli.graph.graph",
    "simweb": "cli.simweb.app",
    "bench": "bench.command.app.app",
}
"""Each with its module in the package, and its function or group there."""
_CRAWLING: Final = ("crawl", "resume", "demo")
_BENCH: Final = {"cryptography", "dns", "h2", "psutil"}
"""What only the `bench` extra installs."""


def application(only: str = "") -> typer.Typer:
    """The command with all its subcommands, or with one of them: the modules of the others are not loaded, which takes
    a quarter of the time off a short command."""
    app = typer.Typer(
        name="whimbrel",
        help="A parallel, distributed, migrating web crawler.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode="rich",
    )
    app.callback()(_whimbrel)
    for name, place in _COMMANDS.items():
        if only in ("", name):
            module, _, attribute = place.rpartition(".")
            found = getattr(import_module(f"whimbrel.{module}"), attribute)
            if isinstance(found, typer.Typer):
                app.add_typer(found, name=name)
            else:
                app.command(name)(found)
    return app


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"whimbrel {__version__}")
        raise typer.Exit


def _whimbrel(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """A parallel, distributed, migrating web crawler."""


def main() -> None:
    """The entry point of a process of its own."""
    open_standard_files()
    end_with_threads_that_cannot_begin()
    if _first_word() in _CRAWLING:
        tune_memory()
    run()


def run() -> None:
    """What the arguments say. Expected errors end in one clear line, not in a traceback."""
    first = _first_word()
    sys.argv[1:] = with_default(sys.argv[1:])
    try:
        application(first if first in _COMMANDS else "")()
    except WhimbrelError as error:
        _end(f"{error}; {error.remedy}" if error.remedy else str(error), error.exit_code)
    except OSError as error:
        _end(f"{error.filename}: {error.strerror}" if error.filename else str(error))
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in _BENCH:
            raise
        _end(f"{error.name} is missing; the simulated web needs: pip install 'whimbrel[bench]'")
    except Exception as error:
        if (lack := _what_the_machine_lacks(error)) is None:
            raise
        _end(f"{lack}; mend that and try again, a crawl that had begun with `whimbrel resume DIR`", 1)


def _what_the_machine_lacks(error: BaseException) -> str | None:
    """Where an error of the system is behind another one, as when an event loop cannot begin: that is what to say."""
    seen: BaseException | None = error
    while seen is not None:
        if is_refused_memory(seen):
            return f"this machine has no memory left{f' ({seen})' if str(seen) else ''}"
        if isinstance(seen, OSError):
            return str(seen)
        seen = seen.__cause__ or seen.__context__
    return None


def _first_word() -> str:
    return next((word for word in sys.argv[1:] if not word.startswith("-")), "")


def _end(message: str, code: int = 2) -> None:
    from whimbrel.terminal import printable  # Rich: not when all is well

    lines = map(printable, message.splitlines())  # They may quote pages and servers.
    typer.echo(f"whimbrel: {chr(10).join(lines)}", err=True)
    sys.exit(code)
