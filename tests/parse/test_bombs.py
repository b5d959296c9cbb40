"""No document costs more than a second and 300 MB, however it is made, and none has a reader of its own."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.parse.bomb import bombs


@pytest.mark.parametrize("name", list(bombs()))
def test_a_bomb_costs_at_most_a_second_and_300_mb(name: str) -> None:
    command = [sys.executable, "-m", "tests.parse.bomb", name]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=60, check=False, cwd=Path(__file__).parents[2]
    )
    assert done.returncode == 0, done.stderr[-2000:]
    cost = json.loads(done.stdout)
    assert cost["mb"] < 300, cost
    # A busy machine may be three times as slow; alone none takes more than a second.
    assert cost["s"] < 3, cost
