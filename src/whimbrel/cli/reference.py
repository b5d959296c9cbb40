"""The reference of commands, written from the commands: `python -m whimbrel.cli.reference > docs/commands.md`."""

from collections.abc import Iterator
from typing import Any

import typer.main

from whimbrel.cli.app import app

_HEAD = """\
# Commands

Written from the commands by `python -m whimbrel.cli.reference`; a test fails when it is out of date.

Exit codes everywhere: 0 done, 1 failed, 2 usage, 3 stopped with work left. Durations take units: `250ms`, `0.5s`,
`10m`, `2h`, `1d`.
"""


def reference() -> str:
    root: Any = typer.main.get_command(app)
    return _HEAD + "".join(_section(path, command) for path, command in _walk("whimbrel", root))


def _walk(path: str, command: Any) -> Iterator[tuple[str, Any]]:
    """Every command that does something, with the words that call it."""
    children = getattr(command, "commands", None)
    if children is None:
        yield path, command
        return
    for name, child in sorted(children.items()):
        yield from _walk(f"{path} {name}", child)


def _section(path: str, command: Any) -> str:
    lines = [f"\n## {path}\n", " ".join((command.help or "").split()), "", "| option | default | |", "|---|---|---|"]
    for parameter in command.params:
        if parameter.name == "help":
            continue
        names = ", ".join(f"`{name}`" for name in (*parameter.opts, *parameter.secondary_opts))
        if parameter.param_type_name == "argument":
            names = f"`{(parameter.metavar or parameter.name).upper()}`"
        default = parameter.default
        shown = "" if default in (None, False, (), []) or callable(default) else f"`{default}`"
        lines.append(f"| {names} | {shown} | {(getattr(parameter, 'help', '') or '').replace('|', '/')} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    typer.echo(reference(), nl=False)
