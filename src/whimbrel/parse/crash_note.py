"""What survives a document that takes the process down with it.

Parsers in native code can crash, and a document can take all memory; a process cannot catch either. So the address of
each document is noted in a mapped file before it is read and crossed out afterwards, which costs less than a
microsecond: the kernel keeps the file when the process dies. Whoever opens the crawl again finds the note, and reads
that document in a process of its own first. If that dies, too, the document is kept and not read (`crashed`).
"""

import mmap
import os
import subprocess
import sys
from pathlib import Path
from typing import Final

_FOLDER: Final = "reading"
_SUSPECTS: Final = "suspects"
_NOTE: Final = "now-"
_SIZE: Final = 4096
_HEAD: Final = 2
_TRIAL_S: Final = 20.0


class CrashNote:
    """Owns one file, `reading/now-PID-N` in the crawl's directory, and with all others of this crawl `suspects`."""

    _count = 0

    def __init__(self, directory: Path) -> None:
        self._folder = directory / _FOLDER
        self._folder.mkdir(exist_ok=True)
        self.suspects = frozenset(self._gathered())
        """The addresses of documents during which a process died."""
        CrashNote._count += 1
        self._path = self._folder / f"{_NOTE}{os.getpid()}-{CrashNote._count}"
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
        try:
            os.ftruncate(descriptor, _SIZE)
            self._map = mmap.mmap(descriptor, _SIZE)
        finally:
            os.close(descriptor)

    def begin(self, url: str) -> None:
        data = url.encode()[: _SIZE - _HEAD]
        self._map[: _HEAD + len(data)] = len(data).to_bytes(_HEAD, "big") + data

    def end(self) -> None:
        self._map[:_HEAD] = b"\0\0"

    def close(self) -> None:
        """Nothing is being read."""
        self._map.close()
        self._path.unlink(missing_ok=True)

    def _gathered(self) -> set[str]:
        """Those that are known, and those that processes left which are gone."""
        path = self._folder / _SUSPECTS
        known = set(path.read_text(encoding="utf-8", errors="replace").split()) if path.exists() else set()
        found = set()
        for note in self._folder.glob(f"{_NOTE}*"):
            if note.name.startswith(f"{_NOTE}{os.getpid()}-"):
                continue
            data = note.read_bytes()
            url = data[_HEAD : _HEAD + int.from_bytes(data[:_HEAD], "big")].decode("utf-8", "replace")
            found |= {url} if url else set()
        if found - known:
            known |= found
            path.write_text("".join(f"{url}\n" for url in sorted(known)), encoding="utf-8")
        for note in self._folder.glob(f"{_NOTE}*"):
            if not note.name.startswith(f"{_NOTE}{os.getpid()}-"):
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
