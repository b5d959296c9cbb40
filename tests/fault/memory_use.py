"""How much memory a command takes, with all processes that it starts."""

import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

_EVERY_S = 0.02


class MemoryUse(NamedTuple):
    code: int
    said: str
    peak_bytes: int
    """The most that all its processes had at once. Pages that they share count once."""


def measured(*arguments: str, timeout_s: float = 200, cwd: Path | None = None) -> MemoryUse:
    """Run `whimbrel` with these arguments."""
    with tempfile.TemporaryFile() as out:
        command = [sys.executable, "-m", "whimbrel", *arguments]
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, cwd=cwd)
        try:
            peak, until_s = 0, time.monotonic() + timeout_s
            while process.poll() is None:
                peak = max(peak, _bytes_of(process.pid))
                assert time.monotonic() < until_s, f"not done after {timeout_s:g} s, with {peak / 1e6:,.0f} MB"
                time.sleep(_EVERY_S)
        finally:
            process.kill()
            process.wait()
        out.seek(0)
        return MemoryUse(process.returncode, out.read().decode(errors="replace"), peak)


def _bytes_of(process: int) -> int:
    """Of a process and its descendants now; of the process alone, also what it had between two looks."""
    own = _field(f"/proc/{process}/status", "VmHWM")
    children = [child for child in _descendants(process) if child != process]
    if not children:
        return own
    return max(own, _field(f"/proc/{process}/smaps_rollup", "Pss") + sum(map(_shared_fairly, children)))


def _shared_fairly(process: int) -> int:
    return _field(f"/proc/{process}/smaps_rollup", "Pss")


def _descendants(process: int) -> list[int]:
    found = [process]
    for one in found:
        for task in Path(f"/proc/{one}/task").glob("*/children"):
            with suppress(OSError):
                found += map(int, task.read_text().split())
    return found


def _field(file: str, name: str) -> int:
    with suppress(OSError):
        for line in Path(file).read_text().splitlines():
            if line.startswith(f"{name}:"):
                return 1024 * int(line.split()[1])
    return 0
