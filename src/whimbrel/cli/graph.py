"""`whimbrel graph`."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from whimbrel.flow import Plan, check
from whimbrel.flow.draw import as_mermaid, as_text
from whimbrel.job.crawl_wiring import configured
from whimbrel.job.parts import registry, wiring, wiring_names
from whimbrel.job.stored import stored_job


class Form(StrEnum):
    TEXT = "text"
    MERMAID = "mermaid"


def graph(
    name: Annotated[
        str, typer.Argument(metavar="DIR|WIRING", help="A crawl, a wiring that Whimbrel ships, or a TOML file.")
    ] = "standalone",
    form: Annotated[Form, typer.Option("--format", help="How to draw it.")] = Form.TEXT,
    with_: Annotated[
        list[Path] | None, typer.Option("--with", metavar="FILE.py", help="Components and providers of your own.")
    ] = None,
) -> None:
    """Check a wiring, or that of a crawl, and draw it.

    Exit codes: 0 drawn, 2 the wiring is wrong; the message names the culprit and the line.
    """
    if name not in wiring_names() and not Path(name).exists():
        known = ", ".join(wiring_names())
        raise typer.BadParameter(f"{name!r} is neither a crawl nor a file nor a wiring that Whimbrel ships ({known})")
    plan = _plan(name, with_ or [])
    typer.echo((as_text if form is Form.TEXT else as_mermaid)(plan.wiring), nl=False)


def _plan(name: str, files: list[Path]) -> Plan:
    if name in wiring_names() or not Path(name).is_dir():
        return check(wiring(name), registry(*files))
    options = stored_job(Path(name)).options
    known = registry(*map(Path, options.with_files), *files)
    return check(configured(options, Path(name), known), known)
