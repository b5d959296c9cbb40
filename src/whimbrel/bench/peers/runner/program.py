"""What the runners have in common: which version of a program is installed, and how Wget takes pages only."""

import re
import shutil
import subprocess
from pathlib import Path

PAGES_ONLY = ["--ignore-tags=link,img,script,style,input,object,embed,source,video,audio"]
"""Pages of manuals name pictures and style sheets, which other crawlers do not fetch."""
_ASK = "import importlib.metadata as m, sys; print(m.version(sys.argv[1]))"


def program_version(program: str) -> str | None:
    """The first number in what it says of itself; None when it is not there."""
    if shutil.which(program) is None:
        return None
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=False).stdout  # noqa: S603
    found = re.search(r"\d+(\.\d+)+", said)
    return found[0] if found else "of unknown version"


def library_version(environment: Path, name: str) -> str | None:
    python = environment / "bin" / "python"
    if not python.exists():
        return None
    done = subprocess.run([python, "-c", _ASK, name], capture_output=True, text=True, check=False)  # noqa: S603
    return done.stdout.strip() if done.returncode == 0 else None


def script(name: str) -> str:
    return str(Path(__file__).parents[1] / "script" / name)
