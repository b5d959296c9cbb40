"""`whimbrel dashboard`: a crawl in the browser, running or not."""

from pathlib import Path
from typing import Annotated

import typer


def dashboard(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="The crawl's directory.")],
    at: Annotated[
        str, typer.Option(metavar="ADDRESS:PORT", help="Where to listen; port 0 is any that is free.")
    ] = "127.0.0.1:0",
) -> None:
    """Show a crawl in the browser: numbers, the live wiring, hosts, errors, SQL, links, and all actions.

    Prints the address to open, which has a token in it. Exit codes: 0 ended, 2 it cannot be served.
    """
    from whimbrel.dashboard.library import DashboardError
    from whimbrel.dashboard.serve import serve

    host, _, port = at.rpartition(":")
    if not directory.is_dir():
        raise DashboardError(f"there is no directory {directory}")
    if not port.isdigit() or not host:
        raise typer.BadParameter(f"{at!r} is not ADDRESS:PORT")
    serve(directory, host.strip("[]"), int(port), lambda address: typer.echo(f"dashboard: {address}"))
