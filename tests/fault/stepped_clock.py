"""A wall clock that a test sets while a crawl runs, or between two runs. It is the crawl's own (`stepped_clock.c`)."""

import shutil
import struct
import subprocess
from pathlib import Path

import pytest

DAY_S = 86_400.0
_SOURCE = Path(__file__).with_suffix(".c")


class SteppedClock:
    """What the processes of a crawl take for the machine's clock, and for its last boot."""

    def __init__(self, folder: Path) -> None:
        compiler = shutil.which("gcc") or shutil.which("cc")
        if compiler is None:
            pytest.skip("no C compiler on this machine")
        folder.mkdir()
        self._library, self._steps, self._boot = folder / "stepped_clock.so", folder / "steps", folder / "boot"
        flags = ["-shared", "-fPIC", "-O2", "-o", str(self._library), str(_SOURCE), "-ldl", "-pthread"]
        subprocess.run([compiler, *flags], check=True)
        self._boots = 0
        self._boot.write_text(f"boot-{self._boots}\n")
        self._steps.write_bytes(struct.pack("dd", 0.0, 0.0))

    @property
    def wrapper(self) -> tuple[str, ...]:
        """What a command begins with to live by this clock."""
        names = {"LD_PRELOAD": self._library, "STEPPED_CLOCK": self._steps, "STEPPED_BOOT": self._boot}
        return ("env", *(f"{name}={value}" for name, value in names.items()))

    def set(self, ahead_s: float) -> None:
        """From now on it is ahead of the machine's clock by so much."""
        self._write(0, ahead_s)

    def reboot(self, boot_s: float) -> None:
        """Another boot of the machine, whose time since boot differs by so much from the real one."""
        self._boots += 1
        self._boot.write_text(f"boot-{self._boots}\n")
        self._write(1, boot_s)

    def _write(self, number: int, value: float) -> None:
        with self._steps.open("r+b") as file:
            file.seek(8 * number)
            file.write(struct.pack("d", value))
