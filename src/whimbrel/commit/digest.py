"""SHA-256 of the files that do not change any more, so that a copy can be checked against the commit that lists it.

Only committed bytes are read, and those are never cut. So the digest of the open segment grows from commit to commit,
and is there when the segment is sealed: nothing waits for a gigabyte to be read.
"""

import hashlib
import os
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from hashlib import _Hash

_PIECE_BYTES: Final = 1 << 17
"""Fits into the processor's own memory: a quarter faster than a megabyte."""
CATCH_UP_BYTES: Final = 256_000_000
"""Read after one commit, at most: 0.2 s. More is there only after a restart, or in a crawl of an earlier version."""


class FileDigests:
    """`known` has the digests that are complete. One thread at a time."""

    def __init__(self, directory: Path, known: Mapping[str, str]) -> None:
        self._directory = directory
        self.known = dict(known)
        self._growing: dict[str, _Growing] = {}

    def listed(self, sealed: Collection[str]) -> dict[str, str]:
        """Those of sealed files, in their order. A file that was opened again has no digest any more."""
        self.known = {name: self.known[name] for name in sealed if name in self.known}
        return dict(self.known)

    def advance(self, lengths: Mapping[str, int], sealed: Collection[str], most_bytes: int) -> None:
        """Read on in files up to their committed lengths, `most_bytes` of them in all. One that cannot be read is left
        out: `verify` names it."""
        for name, length in lengths.items():
            if name in self.known or most_bytes <= 0:
                continue
            growing = self._growing.setdefault(name, _Growing())
            with suppress(OSError):
                most_bytes -= growing.advance(self._directory / name, min(length, growing.at + most_bytes))
            if name in sealed and growing.at == length:
                self.known[name] = growing.text()
                del self._growing[name]
        self._growing = {name: growing for name, growing in self._growing.items() if name in lengths}


class _Growing:
    """The digest of a file's beginning."""

    def __init__(self) -> None:
        self._hash: _Hash = hashlib.sha256()
        self.at = 0

    def advance(self, path: Path, end: int) -> int:
        """Go on up to `end`; how many bytes that were."""
        begun_at = self.at
        if self.at < end:
            fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            try:
                while self.at < end and (data := os.pread(fd, min(_PIECE_BYTES, end - self.at), self.at)):
                    self._hash.update(data)
                    self.at += len(data)
            finally:
                os.close(fd)
        return self.at - begun_at

    def text(self) -> str:
        return "sha256:" + self._hash.hexdigest()


def file_digest(path: Path, length: int) -> str:
    """Of the first `length` bytes. Raises OSError when it cannot be read."""
    growing = _Growing()
    growing.advance(path, length)
    return growing.text()
