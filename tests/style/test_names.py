"""One class name, one meaning; and every module is named in the story of its package."""

import ast
import re
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "whimbrel"
STORIES = sorted(SOURCE.rglob("__init__.py"))
ALSO_KNOWN_ELSEWHERE = "Class names with two meanings"


def test_a_class_name_means_one_thing_unless_the_glossary_says_why() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(path.relative_to(SOURCE).as_posix())
    section = (ROOT / "docs" / "glossary.md").read_text().partition(f"## {ALSO_KNOWN_ELSEWHERE}\n")[2]
    explained = set(re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE))
    assert {name: found for name, found in places.items() if len(found) > 1 and name not in explained} == {}
    assert [name for name in explained if len(places[name]) < 2] == [], "take it out of the glossary's list"


def _unnamed(package: Path) -> list[str]:
    story = ast.get_docstring(ast.parse(package.read_text())) or ""
    named = set(re.findall(r"`([\w/]+)(?:\.py|/)`", story))
    folder = package.parent
    modules = {path.stem for path in folder.glob("*.py")} - {"__init__", "__main__"}
    folders = {path.parent.name for path in folder.glob("*/__init__.py")}
    return sorted((modules | folders) - named)


@pytest.mark.parametrize("package", STORIES[1:], ids=lambda path: str(path.parent.relative_to(SOURCE)))
def test_the_story_of_a_package_names_each_of_its_modules(package: Path) -> None:
    assert _unnamed(package) == [], "say in a few words what it is for"
