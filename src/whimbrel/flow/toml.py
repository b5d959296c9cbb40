"""Read a wiring from TOML, remembering where each part stands so that errors can say so.

name = "standalone"

[providers.seen]
use = "memory-seen"

[components.parser]
use = "parser"
instances = 2                       # optional
place = "thread"                    # optional
needs = { seen = "seen" }           # provider names
config = { max_links = 1000 }       # what the component's Config accepts

[[connectors]]
from = "downloader.documents"
to = "parser.documents"
kind = "queue"                      # or "direct"
capacity = 256                      # of a queue
batch = 16
"""

import json
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from whimbrel.flow.error import BadWiring, nearest
from whimbrel.flow.wiring import ComponentSpec, ConnectorSpec, Kind, Place, ProviderSpec, Wiring, used_name

_HEADER: Final = re.compile(r"^\s*\[(providers|components)\.(?:\"([^\"]+)\"|([\w-]+))\]")
_END: Final = re.compile(r"""\b(from|to)\s*=\s*["']([^"']+)["']""")
_ALLOWED: Final = {"$.kind": "; kind is direct or queue", "$.place": "; place is loop or thread"}
_TOP: Final = ("name", "providers", "components", "connectors")


class _Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    use: str
    config: dict[str, Any] = {}
    needs: dict[str, str] = {}


class _Component(_Part, frozen=True, forbid_unknown_fields=True):
    instances: int = 1
    place: Place = "loop"


class _Connector(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    source: str = msgspec.field(name="from")
    target: str = msgspec.field(name="to")
    kind: Kind = "queue"
    capacity: int = 1024
    batch: int = 64


def read_wiring(path: Path) -> Wiring:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadWiring(str(path), f"{path} cannot be read: {error}") from error
    return parse_wiring(text, str(path))


def parse_wiring(text: str, file: str) -> Wiring:
    """A wiring from TOML text; `file` is what errors call it."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        line = re.search(r"line (\d+)", str(error))
        raise BadWiring(file, f"not TOML: {error}", f"{file}:{line[1] if line else 1}") from error
    for key in data:
        if key not in _TOP:
            raise BadWiring(key, f"unknown key {key!r}{nearest(key, _TOP)}", f"{file}:{_line_of(text, key)}")
    places = _places(text, file)
    providers = tuple(
        ProviderSpec(name, part.use, part.config, part.needs)
        for name, part in _parts(data, "providers", _Part, places, file)
    )
    components = tuple(
        ComponentSpec(name, part.use, part.config, part.needs, part.instances, part.place)
        for name, part in _parts(data, "components", _Component, places, file)
    )
    connectors = tuple(
        ConnectorSpec(part.source, part.target, part.kind, part.capacity, part.batch)
        for part in _connectors(data, text, file)
    )
    return Wiring(str(data.get("name", Path(file).stem)), components, connectors, providers, places)


def _parts(
    data: Mapping[str, Any], table: str, kind: type[Any], places: Mapping[str, str], file: str
) -> list[tuple[str, Any]]:
    found = data.get(table, {})
    if not isinstance(found, dict):
        raise BadWiring(table, f"{table!r} must be a table", file)
    parts = []
    for name, value in found.items():
        place = places.get(f"provider {name}" if table == "providers" else name, file)
        parts.append((name, _convert(value, kind, f"{table[:-1]} {name!r}", name, place)))
    return parts


def _connectors(data: Mapping[str, Any], text: str, file: str) -> list[_Connector]:
    found = data.get("connectors", [])
    if not isinstance(found, list):
        raise BadWiring("connectors", "'connectors' must be an array of tables", file)
    starts = [line for line, key, _ in _ends(text) if key == "from"]
    connectors = []
    for at, value in enumerate(found):
        place = f"{file}:{starts[at]}" if at < len(starts) else file
        connectors.append(_convert(value, _Connector, f"connector {at + 1}", f"connector {at + 1}", place))
    return connectors


def _convert(value: Any, kind: type[Any], what: str, culprit: str, place: str) -> Any:
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        unknown = re.search(r"unknown field `([^`]+)`", str(error))
        hint = nearest(unknown[1], [field.encode_name for field in msgspec.structs.fields(kind)]) if unknown else ""
        hint = next((allowed for path, allowed in _ALLOWED.items() if path in str(error)), hint)
        raise BadWiring(culprit, f"{what}: {error}{hint}", place) from error


def _places(text: str, file: str) -> dict[str, str]:
    """Where tables and connectors begin. TOML parsers forget; for the way wirings are written a look at the lines is
    enough."""
    places = {}
    for number, line in enumerate(text.splitlines(), 1):
        header = _HEADER.match(line)
        if header:
            name = header[2] or header[3]
            places[f"provider {name}" if header[1] == "providers" else name] = f"{file}:{number}"
    source: tuple[int, str] | None = None
    for number, key, value in _ends(text):
        if key == "from":
            source = (number, value)
        elif source is not None:
            places[f"{source[1]} -> {value}"] = f"{file}:{source[0]}"
    return places


def _ends(text: str) -> list[tuple[int, str, str]]:
    """Every `from = …` and `to = …` with its line."""
    lines = enumerate(text.splitlines(), 1)
    return [(number, match[1], match[2]) for number, line in lines for match in _END.finditer(line.split("#", 1)[0])]


def _line_of(text: str, key: str) -> int:
    pattern = re.compile(rf"^\s*\[*\s*{re.escape(key)}\b")
    return next((number for number, line in enumerate(text.splitlines(), 1) if pattern.match(line)), 1)


def wiring_text(wiring: Wiring) -> str:
    """A wiring as TOML, which `parse_wiring` reads back. Its parts must be named, not given as classes."""
    lines = [f"name = {_toml(wiring.name)}\n"]
    for component in wiring.components:
        lines.append(f"\n[components.{_toml(component.name)}]\n{_part_text(component)}")
        lines.append(f"instances = {component.instances}\nplace = {_toml(component.place)}\n")
    for one in wiring.connectors:
        lines.append(f"\n[[connectors]]\nfrom = {_toml(one.source)}\nto = {_toml(one.target)}\n")
        lines.append(f"kind = {_toml(one.kind)}\ncapacity = {one.capacity}\nbatch = {one.batch}\n")
    lines += (f"\n[providers.{_toml(one.name)}]\n{_part_text(one)}" for one in wiring.providers)
    return "".join(lines)


def _part_text(part: ComponentSpec | ProviderSpec) -> str:
    tables = "".join(f"{key} = {_toml(dict(getattr(part, key)))}\n" for key in ("needs", "config"))
    return f"use = {_toml(used_name(part.use))}\n{tables}"


def _toml(value: Any) -> str:
    """Strings, numbers, lists and tables; JSON's strings are TOML's, but for one character."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_toml(key)} = {_toml(inner)}" for key, inner in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
