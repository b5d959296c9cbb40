"""`whimbrel demo`: the main job on an embedded default."""

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from rich.console import Console

from whimbrel.cli.display import ProgressDisplay
from whimbrel.cli.summary import print_summary
from whimbrel.job.crawl import check_empty
from whimbrel.job.crawl import crawl as run_crawl
from whimbrel.job.options import combined
from whimbrel.simweb.preset import Preset, spec_of
from whimbrel.simweb.server.serve import RunningWeb, await_running
from whimbrel.simweb.spec import changed
from whimbrel.simweb.web import Web
from whimbrel.terminal import plain_console

_NEEDED: Final = ("cryptography", "dns", "h2")
"""By the simulated web; the extra `bench` installs them."""
_RESULT: Final = {"job.toml", "COMMITTED", "state", "archive", "facts"}


def demo(
    into: Annotated[Path, typer.Option(help="Directory for the result.")] = Path("demo-crawl"),
    again: Annotated[bool, typer.Option("--again/--keep", help="Replace the result of an earlier demo.")] = True,
) -> None:
    """Start a small simulated web on this machine, crawl it, and compare the result with the truth.

    Needs no network. Exit codes: 0 the result equals the truth, 1 it does not or the crawl failed, 2 usage, 3 stopped.
    """
    for library in _NEEDED:
        import_module(library)  # Before anything is touched: where one is missing, the command says what to install.
    if again:
        _clear(into)
    check_empty(into)
    console = plain_console()
    console.rule("[bold]a simulated web")
    with _served() as running:
        web = Web(changed(spec_of(Preset.DEMO), dict(running.ports())))
        count, pages = web.spec.hosts, web.spec.pages
        console.print(f"{count} hosts with {pages} pages each, on loopback; seed {running.seeds[0]}")
        console.rule("[bold]the crawl")
        given = combined([("demo", _job(running))])
        with ProgressDisplay(console) as display:
            result = run_crawl(given, into, display.show, display.say)
        print_summary(console, into, result)
    if result.state != "done":
        raise typer.Exit(result.exit_code)
    from whimbrel.bench.exact import differences  # pyarrow: not when any other command starts

    console.rule("[bold]the truth")
    _judge(console, differences(into, web, running.seeds))
    console.rule("[bold]try next")
    for command in (
        "whimbrel graph standalone             the crawler as a drawing",
        "whimbrel simweb faults                everything that a crawler must survive",
        "whimbrel simweb serve --preset wild   a web with all of it",
        "whimbrel bench flow                   what a hop between components costs",
    ):
        console.print(f"  .venv/bin/{command}", highlight=False)


def _job(running: RunningWeb) -> dict[str, Any]:
    """A crawl of one's own servers: no delay. What a host asks us to wait, or does not answer, is not waited for
    long."""
    return {
        "seeds": running.seeds,
        "scope": "any",
        "delay": 0.0,
        "max_depth": 0,
        "resolver": f"127.0.0.1:{running.dns_port}",
        "ca": running.ca,
        "allow_network": ["127.0.0.0/8"],
        "set": {"effects": {"retry_s": 0.5}},
    }


def _judge(console: Console, wrong: list[str]) -> None:
    if not wrong:
        said = "Every URL that a correct crawl finds was found, with the right outcome, and no other."
        console.print(said, style="green")
        return
    for line in wrong[:20]:
        console.print(line[:200], style="red", markup=False)  # A URL can be 10 KB long.
    console.print(f"{len(wrong)} URLs differ from the truth.", style="bold red")
    raise typer.Exit(1)


def _clear(directory: Path) -> None:
    """Remove an earlier result, and nothing that is not one."""
    if (directory / "job.toml").is_file() and {path.name for path in directory.iterdir()} <= _RESULT:
        shutil.rmtree(directory)


@contextmanager
def _served() -> Iterator[RunningWeb]:
    """A simulated web in a process of its own."""
    with tempfile.TemporaryDirectory(prefix="whimbrel-demo-") as folder:
        command = [sys.executable, "-m", "whimbrel", "simweb", "serve", "--preset", "demo", "--free-ports"]
        # In a session of its own: an interrupt at the terminal is for the crawl.
        server = subprocess.Popen(  # noqa: S603
            [*command, "--state", folder], stdout=subprocess.DEVNULL, start_new_session=True
        )
        try:
            yield await_running(server, Path(folder))
        finally:
            server.terminate()
            server.wait(10)
