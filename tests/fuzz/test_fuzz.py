"""Everything that was found before stays mended. The long tests look for more, with other dice every time.

Campaigns fork, so each has a process of its own: this one may have threads.
"""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.fuzz.target import TARGETS

LONG_MINUTES = 30.0 / len(TARGETS)


def require_namespace() -> None:
    script = "from tests.fuzz.target.loopback_only import leave_network; leave_network()"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=False)
    if done.returncode:
        pytest.skip("this system allows no network namespace")


def finds_nothing(name: str, folder: Path, *how: str) -> None:
    if name == "control":
        require_namespace()
    command = [sys.executable, "-m", "tests.fuzz", name, "--into", str(folder), *how]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    texts = [f"{path}: {path.read_text()}" for path in folder.rglob("*.txt")]
    assert done.returncode == 0, "\n".join([f"{' '.join(command)}: {done.stdout}{done.stderr}", *texts])
    assert "found nothing" in done.stdout


@pytest.mark.parametrize("name", TARGETS)
def test_the_corpus_and_some_changed_inputs_are_read_within_the_limits(name: str, tmp_path: Path) -> None:
    finds_nothing(name, tmp_path, "--quick")


@pytest.mark.long
@pytest.mark.parametrize("name", TARGETS)
def test_minutes_of_changed_inputs_are_read_within_the_limits(name: str, tmp_path: Path) -> None:
    finds_nothing(name, tmp_path, "--minutes", str(LONG_MINUTES), "--seed", str(int(time.time())))


@pytest.mark.parametrize(
    ("wrong", "found"),
    [
        ("raises", "KeyError-wrong-"),
        ("hangs", "SIGPROF-"),
        ("is_slow", "slow"),
        ("takes_memory", "large"),
        ("crashes", "SIGSEGV-"),
        ("cannot_open", "exit-1-"),
    ],
)
def test_what_a_target_does_wrong_is_found_and_its_input_kept(wrong: str, found: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.fuzz.wrong", wrong, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    kept = [path for path in tmp_path.iterdir() if path.suffix != ".txt"]
    assert kept
    assert all(path.name.startswith(found) and path.with_name(f"{path.name}.txt").exists() for path in kept)
    assert all(path.read_bytes() in (b"one", b"three", b"") for path in kept)
    assert "wrong: 2 inputs" in done.stdout
