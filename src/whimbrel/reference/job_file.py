"""The reference of job files, written from the options of a crawl and the settings of every part."""

from typing import Any

import msgspec
import typer.main

from whimbrel.cli.app import application
from whimbrel.reference import setting
from whimbrel.reference.head import JOB_FILE


def job_reference() -> str:
    """Every option of a job file, and every setting of every part."""
    wired, others = setting.parts()
    spellings = _spellings()
    rows = [
        f"| `{field.name}` | {spellings[field.name]} | {field.kind} | {_shown(field.default)} | {_cell(field.text)} |"
        for field in setting.options()
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


def _part_section(part: setting.ConfigurablePart) -> str:
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
    for field in setting.options():
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
