"""The reference of actions on a running crawl, written from their types.

`python -m whimbrel.reference actions > docs/actions.md`.
"""

import ast
import inspect
import textwrap
from itertools import pairwise
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import inspect as types

from whimbrel.control.api import ACTIONS, Done, Joint
from whimbrel.flow import ComponentSpec, ProviderSpec
from whimbrel.flow.component import Part
from whimbrel.job.parts import registry, wiring

_HEAD: Final = """\
# Actions

Written from the code by `python -m whimbrel.reference actions`; a test fails when it is out of date.

Everything that can be done to a running crawl, and nothing else can. [control.md](control.md) says what each is good
for and what survives a restart. Three ways lead there:

| | |
|---|---|
| command line | `whimbrel control DIR NAME …` ([commands.md](commands.md)) |
| HTTP | `POST /v1/actions/NAME`, the fields as a JSON object; an unknown field is an error |
| Python | `Control(DIR).carry_out(Name(…))`, from `whimbrel.control.client` and `whimbrel.control.api` |

"""
_LIVE: Final = """
## Live settings

What a part of the wiring `standalone` takes over where it is. For any other setting the part is replaced: it ends
what it has in hand, is closed and made anew. A part that cannot be replaced refuses.

| part | settings |
|---|---|
"""
_FIXED: Final = """
## Parts that cannot be replaced

| part | why |
|---|---|
"""


class ActionField(NamedTuple):
    name: str
    """In JSON."""
    kind: str
    """Its type, in words."""
    default: str
    text: str
    """What it means; empty when nobody has written it down."""


class ActionEntry(NamedTuple):
    name: str
    text: str
    fields: tuple[ActionField, ...]


def actions() -> list[ActionEntry]:
    return [_entry(name, kind) for name, kind in ACTIONS.items()]


def values() -> list[ActionEntry]:
    """What actions are made of, and what they are answered with."""
    return [_entry(kind.__name__, kind) for kind in (Joint, Done)]


def action_reference() -> str:
    listed = [f"| [`{one.name}`](#{one.name}) | {one.text} |\n" for one in actions()]
    sections = [_section(one.name, one, _ways(one.name)) for one in actions()]
    joint, done = values()
    sections.append(_section("Connectors", joint, "`Joint` in Python."))
    sections.append(_section("The answer", done, "`Done` in Python; on the command line `--json` shows it whole."))
    return "".join([_HEAD, "| action | |\n|---|---|\n", *listed, *sections, _LIVE, *_live(), _FIXED, *_fixed()])


def _ways(name: str) -> str:
    command = f"[`whimbrel control DIR {name}`](commands.md#whimbrel-control-dir-{name})"
    return f"`{ACTIONS[name].__name__}` in Python, `POST /v1/actions/{name}`, {command}."


def _section(title: str, entry: ActionEntry, ways: str) -> str:
    rows = [f"| `{field.name}` | {field.kind} | {field.default} | {field.text} |\n" for field in entry.fields]
    table = ["\n| field | type | default | |\n|---|---|---|---|\n", *rows] if rows else ["It has no fields.\n"]
    return "".join([f"\n## {title}\n\n{entry.text}\n\n{ways}\n", *table])


def _entry(name: str, kind: type[Any]) -> ActionEntry:
    texts = _texts(kind)
    described = types.type_info(kind)
    if not isinstance(described, types.StructType):
        raise TypeError(f"{name} is no action")
    fields = (
        ActionField(field.encode_name, _kind(field.type), _default(field), texts.get(field.name, ""))
        for field in described.fields
    )
    return ActionEntry(name, " ".join(inspect.cleandoc(kind.__doc__ or "").split()), tuple(fields))


def _texts(kind: type[Any]) -> dict[str, str]:
    """For each field the string under it, which Python forgets."""
    body = ast.parse(textwrap.dedent(inspect.getsource(kind))).body[0]
    found = {}
    for field, after in pairwise(body.body if isinstance(body, ast.ClassDef) else []):
        match field, after:
            case ast.AnnAssign(target=ast.Name(name)), ast.Expr(ast.Constant(str(text))):
                found[name] = " ".join(text.split())
    return found


def _kind(kind: types.Type) -> str:
    """A type in words, with its bounds: `whole number, 1 to 10,000`."""
    match kind:
        case types.IntType(ge=least, le=most):
            return "whole number" + _bounds(least, most)
        case types.FloatType(ge=least, le=most):
            return "number" + _bounds(least, most)
        case types.LiteralType(values=values):
            return " or ".join(f"`{value}`" for value in sorted(map(str, values)))
        case types.UnionType(types=kinds):
            return " or ".join(_kind(one) for one in kinds if not isinstance(one, types.NoneType))
        case types.VarTupleType(item_type=item, max_length=most):
            return f"list of {_kind(item)}" + ("" if most is None else f", at most {most:,}")
        case types.DictType(value_type=value):
            return f"table of {_kind(value)}"
        case types.StructType():
            return "[connectors](#connectors)"
    return {types.StrType: "text", types.BoolType: "true or false", types.AnyType: "any value"}[type(kind)]


def _bounds(least: float | None, most: float | None) -> str:
    return "" if least is None or most is None else f", {least:,.15g} to {most:,.15g}"


def _default(field: types.Field) -> str:
    if field.required:
        return "needed"
    value = field.default if field.default_factory is msgspec.NODEFAULT else field.default_factory()
    return "" if value in (None, "", (), {}) else f"`{msgspec.json.encode(value).decode()}`"


def _parts() -> dict[str, type[Part]]:
    known, base = registry(), wiring("standalone")
    specs: list[ComponentSpec | ProviderSpec] = [*base.components, *base.providers]
    found = {spec.name: known.component(spec.use) or known.provider(spec.use) for spec in specs}
    return {name: kind for name, kind in sorted(found.items()) if kind is not None}


def _live() -> list[str]:
    return [f"| `{name}` | {_names(kind)} |\n" for name, kind in _parts().items() if kind.live]


def _names(kind: type[Part]) -> str:
    names = ", ".join(f"`{key}`" for key in kind.Config.__struct_fields__ if key in kind.live)
    return f"all: {names}" if kind.live >= set(kind.Config.__struct_fields__) else names


def _fixed() -> list[str]:
    return [f"| `{name}` | {kind.fixed} |\n" for name, kind in _parts().items() if kind.fixed]
