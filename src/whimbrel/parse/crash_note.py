"""What survives a document that takes the process down with it.

Parsers in native code can crash, and a document can take all memory; a process cannot catch either. So the address of
each document is written to a small file before it is read, a microsecond's work: the kernel keeps it when the process
dies. Whoever opens the crawl again finds the last one, and reads that document in a process of its own first. If that
dies, too, the document is kept and not read (`crashed`).
"""

import ctypes
import os
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import ClassVar, Final

_FOLDER: Final = "reading"
_SUSPECTS: Final = "suspects"
_NOTE: Final = "now-"
_MOST_BYTES: Final = 4096
_TRIAL_S: Final = 20.0
# Unlike os.pwrite it keeps the interpreter's lock: to give it away and take it back with each page, while commits want
# it too, costs 20 times what the call does.
_pwrite: Final = ctypes.PyDLL(None).pwrite
_pwrite.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int64)


class CrashNote:
    """Owns one file, `reading/now-…` in the crawl's directory, and with all others of this crawl `suspects`."""

    _open: ClassVar[set[Path]] = set()
    """The notes of this process. Its number would not tell them: in a container every run has the same."""

    def __init__(self, directory: Path) -> None:
        self._folder = directory / _FOLDER
        self._folder.mkdir(exist_ok=True)
        self.suspects = frozenset(self._gathered())
        """The addresses of documents after which a process died."""
        self._descriptor, name = tempfile.mkstemp(prefix=_NOTE, dir=self._folder)
        self._path = Path(name)
        self._open.add(self._path)

    def begin(self, url: str) -> None:
        # A full disk is told by those who need it. A line ends the address: what a longer one left stays behind it.
        line = f"{url}\n".encode()[:_MOST_BYTES]
        _pwrite(self._descriptor, line, len(line), 0)

    def close(self) -> None:
        """Nothing is being read."""
        os.close(self._descriptor)
        self._path.unlink(missing_ok=True)
        self._open.discard(self._path)

    def _gathered(self) -> set[str]:
        """Those that are known, and those that processes left which are gone."""
        path = self._folder / _SUSPECTS
        known = set(path.read_text(encoding="utf-8", errors="replace").split()) if path.exists() else set()
        notes = [note for note in self._folder.glob(f"{_NOTE}*") if note not in self._open]
        found = {note.read_bytes().partition(b"\n")[0].decode("utf-8", "replace") for note in notes} - {""}
        known |= found
        # On a full disk the notes stay where they are.
        with suppress(OSError):
            if found:
                path.write_text("".join(f"{url}\n" for url in sorted(known)), encoding="utf-8")
            for note in notes:
                note.unlink(missing_ok=True)
        return known


def survives(body: bytes, url: str, mime: str, charset: str) -> bool:
    """Whether a process that reads this document lives on, within a gigabyte and some seconds."""
    command = [sys.executable, "-m", "whimbrel.parse.trial", url, mime, charset]
    try:
        done = subprocess.run(command, input=body, capture_output=True, timeout=_TRIAL_S, check=False)  # noqa: S603
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0
