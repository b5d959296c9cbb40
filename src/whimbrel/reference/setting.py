"""What a job file may hold, read from the code: every option, and every setting of every part.

Types and defaults are those of the classes. What a field means stands under it in the source as a string, which Python
forgets, so it is read from there again.
"""

import ast
import inspect
import sys
import textwrap
import types
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec

from whimbrel.flow import Registry, Wiring
from whimbrel.job.crawl_wiring import settings_of
from whimbrel.job.options import CrawlOptions
from whimbrel.job.parts import registry, wiring

_WORDS = {str: "text", int: "whole number", float: "number", bool: "true or false"}


class SettingField(msgspec.Struct, frozen=True):
    """An option or a setting."""

    name: str
    kind: str
    """Its type, in words."""
    default: Any
    text: str
    """What it means; empty when nobody has written it down."""


class ConfigurablePart(msgspec.Struct, frozen=True):
    """A component or provider that can be configured."""

    name: str
    """What the wiring and `[set.NAME]` call it."""
    use: str
    """What the registry calls it."""
    about: str
    fields: tuple[SettingField, ...]
    derived: frozenset[str]
    """Settings that the options decide, unless they are set."""
    ours: bool
    """Whimbrel ships it; others come from installed packages."""


def options() -> tuple[SettingField, ...]:
    """The options of a crawl, in their order."""
    return fields_of(CrawlOptions)


def parts() -> tuple[list[ConfigurablePart], list[ConfigurablePart]]:
    """The parts of the standalone wiring in its order, then those that can take the place of one."""
    known = registry()
    base = wiring("standalone")
    used = {spec.name: str(spec.use) for spec in base.components}
    used |= {spec.name: str(spec.use) for spec in base.providers}
    decided = settings_of(CrawlOptions(seeds=("example.org",)), Path("DIR"))
    wired = [_part(known, name, use, frozenset(decided.get(name, {}))) for name, use in used.items()]
    names = [name for name in crawl_parts(known) if name not in used.values()]
    others = [_part(known, use, use, frozenset(), alone=True) for use in names]
    return wired, [part for part in others if part.ours]


def crawl_parts(known: Registry) -> list[str]:
    """The registered names that the wiring of a crawl may use: all but those of an import's own parts."""
    crawl, other = (_uses(wiring(name)) for name in ("standalone", "import"))
    return sorted({*known.component_names(), *known.provider_names()} - (other - crawl))


def _uses(found: Wiring) -> set[str]:
    return {str(spec.use) for spec in found.components} | {str(spec.use) for spec in found.providers}


def _part(known: Registry, name: str, use: str, derived: frozenset[str], *, alone: bool = False) -> ConfigurablePart:
    kind = known.component(use) or known.provider(use)
    if kind is None:
        raise AssertionError(f"{use} is registered and cannot be found")
    # A module's first line is for everybody. Those that take another's place share a module with it.
    told = kind.__doc__ if alone else sys.modules[kind.__module__].__doc__
    about = _first_line(told)
    return ConfigurablePart(name, use, about, fields_of(kind.Config), derived, kind.__module__.startswith("whimbrel."))


def fields_of(kind: type[msgspec.Struct]) -> tuple[SettingField, ...]:
    """The fields of a class with defaults for all of them, inherited ones first."""
    texts = {name: text for base in reversed(kind.__mro__) if base is not object for name, text in _texts(base).items()}
    hints = get_type_hints(kind)
    made = kind()
    return tuple(
        SettingField(name, described(hints[name]), getattr(made, name), texts.get(name, ""))
        for name in kind.__struct_fields__
    )


def _texts(kind: type) -> dict[str, str]:
    """For each field of a class the string under it."""
    if not kind.__module__.startswith("whimbrel."):
        return {}
    body = ast.parse(textwrap.dedent(inspect.getsource(kind))).body[0]
    found = {}
    lines = body.body if isinstance(body, ast.ClassDef) else []
    for field, after in pairwise(lines):
        match field, after:
            case ast.AnnAssign(target=ast.Name(name)), ast.Expr(ast.Constant(str(text))):
                found[name] = " ".join(text.split())
    return found


def described(hint: Any) -> str:
    """A type in words: `list of text`, `whole number or nothing`."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        kinds = [described(kind) for kind in inner if kind is not type(None)]
        return " or ".join([*kinds, "nothing"] if type(None) in inner else kinds)
    if origin is Literal:
        return "one of " + ", ".join(f"`{value}`" for value in inner)
    if origin is tuple:
        return f"list of {described(inner[0])}" if inner[-1] is Ellipsis else "pair"
    if origin is dict:
        return f"table of {described(inner[1])}"
    return _WORDS.get(hint, "any value" if hint is Any else str(hint))


def _first_line(text: str | None) -> str:
    return " ".join((text or "").split("\n\n")[0].split())
