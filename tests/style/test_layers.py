"""What import-linter is told has to name every room of the house."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "whimbrel"
ROOMS = {
    f"whimbrel.{path.stem}"
    for path in PACKAGE.iterdir()
    if (path / "__init__.py").exists() or (path.suffix == ".py" and not path.stem.startswith("__"))
}
NO_PART_OF_THE_CRAWLER = {"whimbrel.simweb", "whimbrel.error", "whimbrel.version"}
"""The last two know nothing: anybody may import them."""
KNOW_THE_SIMULATED_WEB = {"whimbrel.bench", "whimbrel.cli", "whimbrel.reference"}


def contract(name: str) -> dict[str, Any]:
    configuration = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    return next(one for one in configuration["contracts"] if one["name"].startswith(name))


def test_the_simulated_web_may_import_no_room_of_the_crawler() -> None:
    forbidden = contract("The simulated web imports none")["forbidden_modules"]
    assert set(forbidden) == ROOMS - NO_PART_OF_THE_CRAWLER


def test_no_room_but_commands_and_benchmarks_may_import_the_simulated_web() -> None:
    sources = contract("Only commands and benchmarks know")["source_modules"]
    assert set(sources) == ROOMS - NO_PART_OF_THE_CRAWLER - KNOW_THE_SIMULATED_WEB


@pytest.mark.parametrize("room", sorted(ROOMS - {"whimbrel.simweb", "whimbrel.version"}))
def test_every_room_has_a_layer(room: str) -> None:
    layers = contract("Commands on top")["layers"]
    assert room in {name.strip() for layer in layers for name in layer.split("|")}
