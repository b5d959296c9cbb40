"""One tree of errors: every exception class is in it and in its drawing, or is known to stay where it is raised."""

import ast
import builtins
import re
from importlib import import_module
from pathlib import Path

import pytest

import whimbrel
from whimbrel import error
from whimbrel.flow import error as flow_error

SOURCE = Path(whimbrel.__file__).parent
DRAWN = f"{error.__doc__}{flow_error.__doc__}"
INTERNAL = set(re.findall(r"\w+", DRAWN.partition("Not in the tree")[2].partition("FlowError")[0]))


def exceptions() -> list[type[Exception]]:
    """Every exception class that is defined in the package."""
    bases: dict[tuple[str, str], set[str]] = {}
    for path in sorted(SOURCE.rglob("*.py")):
        module = ".".join(["whimbrel", *path.relative_to(SOURCE).with_suffix("").parts])
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                bases[module, node.name] = {ast.unparse(base).rpartition(".")[2] for base in node.bases}
    known = {name for name, value in vars(builtins).items() if isinstance(value, type) and issubclass(value, Exception)}
    while new := {name for (_, name), names in bases.items() if names & known} - known:
        known |= new
    return [getattr(import_module(module), name) for (module, name), names in bases.items() if names & known]


def test_every_error_is_in_the_tree_or_known_to_stay_inside() -> None:
    found = exceptions()
    assert len(found) > 40
    outside = {kind.__name__ for kind in found if not issubclass(kind, error.WhimbrelError)}
    assert outside == {kind.__name__ for kind in found if kind.__name__ in INTERNAL}


@pytest.mark.parametrize("kind", exceptions(), ids=lambda kind: kind.__name__)
def test_every_error_is_drawn_under_its_kind(kind: type[Exception]) -> None:
    assert re.search(rf"\b{kind.__name__}\b", DRAWN), "draw it in whimbrel/error.py, or in flow/error.py"
    line = re.search(rf"^([│├└─ ]*)─ {kind.__name__} ", DRAWN, re.MULTILINE)
    if line is not None:
        above = DRAWN[: line.start()].splitlines()
        depth = len(line[1])
        parent = next(one for one in reversed(above) if len(one) - len(one.lstrip("│├└─ ")) < depth + 2)
        assert re.split(r"\s", parent.lstrip("│├└─ "))[0] in {base.__name__ for base in kind.__mro__}


def test_programs_can_catch_every_kind_by_a_name_of_the_package() -> None:
    kinds = [kind for kind in error.WhimbrelError.__subclasses__() if kind.__module__ == "whimbrel.error"]
    assert [kind.__name__ for kind in kinds if kind.__name__ not in whimbrel.__all__] == []
    for name in whimbrel.__all__:
        found = getattr(whimbrel, name)
        assert not (isinstance(found, type) and issubclass(found, Exception)) or issubclass(found, error.WhimbrelError)
