"""Bodies as received: in memory while they are small, then in a file without a name."""

import os
import tempfile
from typing import Final

from whimbrel.fetch.api import Body
from whimbrel.fetch.spill_space import SpillSpace
from whimbrel.shortage import Shortage, shortage_of

_PIECE_BYTES: Final = 1 << 30
"""Linux moves at most 2 GiB in one call."""
_STEP_BYTES: Final = 1 << 18
"""Space is taken in steps of this size, so that the system is not asked for every piece."""


class MemoryDocument:
    """Meets `api.Body`."""

    __slots__ = ("_data",)

    def __init__(self, data: bytes) -> None:
        self._data: bytes | None = data

    @property
    def size(self) -> int:
        return len(self.read())

    def read(self) -> bytes:
        if self._data is None:
            raise ValueError("the document is closed")
        return self._data

    def close(self) -> None:
        self._data = None


class SpilledDocument:
    """Meets `api.Body`. Owns a descriptor of a file that has no name, so nothing is left after a crash."""

    __slots__ = ("_descriptor", "_size", "_space", "_taken")

    def __init__(self, descriptor: int, size: int, space: SpillSpace, taken: int) -> None:
        self._descriptor = descriptor
        self._size = size
        self._space = space
        self._taken = taken

    @property
    def size(self) -> int:
        return self._size

    def read(self) -> bytes:
        if self._descriptor < 0:
            raise ValueError("the document is closed")
        pieces, at = [], 0
        while at < self._size:
            piece = os.pread(self._descriptor, min(_PIECE_BYTES, self._size - at), at)
            if not piece:
                raise OSError("a spill file is shorter than what was written to it")
            pieces.append(piece)
            at += len(piece)
        return b"".join(pieces)

    def close(self) -> None:
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)
            self._space.give_back(self._taken)

    def __del__(self) -> None:
        self.close()


class Collector:
    """Takes one body after the other, piece by piece, each within the limits.

    `write` is called by libcurl for every 16 KB: small bodies cost it a sum, a comparison and an append.
    """

    __slots__ = (
        *("_chunks", "_descriptor", "_directory", "_easy", "_max_bytes", "_space", "_spill_bytes", "_taken"),
        *("shortage", "size", "truncated"),
    )

    def __init__(self, max_bytes: int, spill_bytes: int, directory: str, space: SpillSpace) -> None:
        self._max_bytes = max_bytes
        self._spill_bytes = spill_bytes
        self._directory = directory or None
        self._space = space
        self._taken = 0
        """Bytes of the disk that are accounted for."""
        self._chunks: list[bytes] = []
        self._descriptor = -1
        self._easy = min(max_bytes, spill_bytes)
        """Up to this size a piece only needs to be kept."""
        self.size = 0
        self.truncated = False
        """The body went on beyond the limit."""
        self.shortage: Shortage | None = None
        """Why the body could not be kept: what came of it says nothing about the server."""

    def write(self, data: bytes) -> int | None:
        """None: taken. 0: no more is wanted, or the disk has no room; libcurl then ends the transfer."""
        size = self.size + len(data)
        if size > self._easy:
            return self._write_large(data)
        self.size = size
        self._chunks.append(data)
        return None

    def finish(self) -> Body:
        """The body as a document, which belongs to the caller; the next body may come."""
        document: Body
        if self._descriptor >= 0:
            document = SpilledDocument(self._descriptor, self.size, self._space, self._taken)
            self._descriptor = -1
            self._taken = 0
        else:
            document = MemoryDocument(b"".join(self._chunks))
        self.clear()
        return document

    def clear(self) -> None:
        """Forget what has come."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
        if self._taken:
            self._space.give_back(self._taken)
            self._taken = 0
        self._chunks.clear()
        self._easy = min(self._max_bytes, self._spill_bytes)
        self.size = 0
        self.truncated = False
        self.shortage = None

    def _write_large(self, data: bytes) -> int | None:
        kept = data[: self._max_bytes - self.size]
        try:
            self._keep(kept)
        except OSError as error:
            # Next time it needs to have room for more than this, or it would come to the same end.
            self.shortage = shortage_of(error, 2 * min(self._max_bytes, 2 * (self.size + len(kept))))
            return 0
        if len(kept) < len(data):
            self.truncated = True
            return 0
        return None

    def _keep(self, data: bytes) -> None:
        size = self.size + len(data)
        spills = self._descriptor >= 0 or size > self._spill_bytes
        if spills and size > self._taken:
            more = -(-(size - self._taken) // _STEP_BYTES) * _STEP_BYTES
            self._space.take(more)
            self._taken += more
        if spills and self._descriptor < 0:
            with tempfile.TemporaryFile(dir=self._directory, buffering=0) as file:
                self._descriptor = os.dup(file.fileno())
            self._easy = -1
            _write_all(self._descriptor, b"".join(self._chunks))
            self._chunks.clear()
        if self._descriptor >= 0:
            _write_all(self._descriptor, data)
        else:
            self._chunks.append(data)
        self.size = size


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
