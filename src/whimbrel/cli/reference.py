"""The references of commands, job files, the Python API, metrics and actions, written from the code.

`python -m whimbrel.cli.reference > docs/commands.md`; with one of the words `job-file`, `python`, `metrics` and
`actions`, the page of that name.
"""

import sys
from collections.abc import Iterator
from typing import Any

import msgspec
import typer.main

from whimbrel.cli.app import application
from whimbrel.cli.reference_action import action_reference
from whimbrel.cli.reference_head import COMMANDS, JOB_FILE
from whimbrel.cli.reference_metric import metric_reference
from whimbrel.cli.reference_python import python_reference
from whimbrel.job import reference as job


def reference() -> str:
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


def job_reference() -> str:
    """Every option of a job file, and every setting of every part."""
    wired, others = job.parts()
    spellings = _spellings()
    rows = [
        f"| `{field.name}` | {spellings[field.name]} | {field.kind} | {_shown(field.default)} | {_cell(field.text)} |"
        for field in job.options()
    ]
    sections = [
        JOB_FILE,
        "\n## Options\n\n| option | command line | type | default | |\n|---|---|---|---|---|\n",
        *(f"{row}\n" for row in rows),
        "\n## Settings of the parts\n\n",
        "The parts of the wiring `standalone`. A setting with ¹ is decided by the options, unless it is set.\n",
        *map(_part_section, wired),
        "\n## Parts that can take another's place\n\n",
        "They are named by `use` in a wiring of your own, and configured there or by the name they have there.\n",
        *map(_part_section, others),
    ]
    return "".join(sections)


def _part_section(part: job.Part) -> str:
    heading = f"\n### {part.name}\n\n`{part.use}`: {part.about}\n"
    if not part.fields:
        return heading + "It has no settings.\n"
    rows = [
        f"| `{field.name}`{'¹' if field.name in part.derived else ''} | {field.kind} | {_shown(field.default)} "
        f"| {_cell(field.text)} |\n"
        for field in part.fields
    ]
    return "".join([heading, "\n| setting | type | default | |\n|---|---|---|---|\n", *rows])


def _spellings() -> dict[str, str]:
    """How the command line spells each option."""
    root: Any = typer.main.get_command(application())
    found = {parameter.name: parameter for parameter in root.commands["crawl"].params}
    names = {"with_files": "with_", "set": "set_"}
    spelt = {}
    for field in job.options():
        parameter = found.get(names.get(field.name, field.name))
        if parameter is None:
            spelt[field.name] = ""
        elif parameter.param_type_name == "option":
            spelt[field.name] = f"`{parameter.opts[-1]}`"
        else:
            spelt[field.name] = "`SEED...`, `--seeds`"
    return spelt


def _shown(value: Any) -> str:
    return "" if value in (None, "", (), {}) else f"`{msgspec.json.encode(value).decode()}`"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    pages = {
        "": reference,
        "job-file": job_reference,
        "python": python_reference,
        "metrics": metric_reference,
        "actions": action_reference,
    }
    typer.echo(pages[" ".join(sys.argv[1:])](), nl=False)
