"""The reference of commands, written from them."""

from collections.abc import Iterator
from typing import Any

import typer.main

from whimbrel.cli.app import application
from whimbrel.reference.head import COMMANDS


def command_reference() -> str:
    root: Any = typer.main.get_command(application())
    return COMMANDS + "".join(_section(path, command, given) for path, command, given in _walk("whimbrel", root))


def _walk(path: str, command: Any, given: tuple[Any, ...] = ()) -> Iterator[tuple[str, Any, tuple[Any, ...]]]:
    """Every command that does something, with the words that call it, and the arguments among them that its group
    takes: `whimbrel control DIR pause`."""
    children = getattr(command, "commands", None)
    if children is None:
        yield path, command, given
        return
    own = tuple(one for one in command.params if one.param_type_name == "argument")
    words = " ".join([path, *map(_argument, own)])
    for name, child in sorted(children.items()):
        yield from _walk(f"{words} {name}", child, (*given, *own))


def _argument(parameter: Any) -> str:
    return str(parameter.metavar or parameter.name).upper()


def _section(path: str, command: Any, given: tuple[Any, ...]) -> str:
    lines = [f"\n## {path}\n", " ".join((command.help or "").split()), "", "| option | default | |", "|---|---|---|"]
    for parameter in (*given, *command.params):
        if parameter.name == "help":
            continue
        names = ", ".join(f"`{name}`" for name in (*parameter.opts, *parameter.secondary_opts))
        if parameter.param_type_name == "argument":
            names = f"`{_argument(parameter)}`"
        default = parameter.default
        shown = "" if default in (None, False, (), []) or callable(default) else f"`{default}`"
        lines.append(f"| {names} | {shown} | {(getattr(parameter, 'help', '') or '').replace('|', '/')} |")
    return "\n".join(lines) + "\n"
