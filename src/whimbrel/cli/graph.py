"""`whimbrel graph`."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from whimbrel.flow import check
from whimbrel.flow.draw import as_mermaid, as_text
from whimbrel.job.parts import registry, wiring, wiring_names


class Form(StrEnum):
    TEXT = "text"
    MERMAID = "mermaid"


def graph(
    name: Annotated[
        str, typer.Argument(metavar="WIRING", help="A wiring that Whimbrel ships, or a TOML file.")
    ] = "standalone",
    form: Annotated[Form, typer.Option("--format", help="How to draw it.")] = Form.TEXT,
    with_: Annotated[
        list[Path] | None, typer.Option("--with", metavar="FILE.py", help="Components and providers of your own.")
    ] = None,
) -> None:
    """Check a wiring and draw it.

    Exit codes: 0 drawn, 2 the wiring is wrong; the message names the culprit and the line.
    """
    if name not in wiring_names() and not Path(name).exists():
        known = ", ".join(wiring_names())
        raise typer.BadParameter(f"{name!r} is neither a file nor a wiring that Whimbrel ships ({known})")
    plan = check(wiring(name), registry(*(with_ or ())))
    typer.echo((as_text if form is Form.TEXT else as_mermaid)(plan.wiring), nl=False)
