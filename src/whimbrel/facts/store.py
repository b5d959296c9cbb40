"""Facts on disk: a tail that grows, and Parquet for what came before.

A tail is *open* (commits are appended), *waiting* (a later one is open), *converting*, or *replaced* (Parquet stands
for it, and it is unlinked one rotation later). One tail converts at a time; while that takes longer than filling the
next, the open one simply grows.
"""

import errno
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from whimbrel.durable_file import Disk, DiskFile
from whimbrel.facts.arrow_import import load_arrow
from whimbrel.facts.check import check_parquet, check_surplus, check_tail, check_unlisted_tail
from whimbrel.facts.conversion import Conversion
from whimbrel.facts.frame import frame
from whimbrel.facts.name import is_ours, parquet_name, tail_name, tail_number
from whimbrel.flow import Config

if TYPE_CHECKING:
    from whimbrel.facts.payload import FactRows


class FactsConfig(Config, frozen=True):
    tail_bytes: int = 64_000_000
    """A tail longer than this is converted. Readers hold the tails in memory."""


class ParquetFacts:
    """Implements `Facts`. `cut` comes first, with what the last commit lists (0, {}, [] if there is none)."""

    def __init__(self, directory: Path, config: FactsConfig, disk: Disk) -> None:
        self._directory, self._config, self._disk = directory, config, disk
        self._folder = directory / "facts"
        self._number = 1
        self._open: DiskFile | None = None
        self._tails: dict[int, int] = {}
        """Tails that stand for their rows, with their lengths; the highest is open unless a later number was begun."""
        self._parquet: list[str] = []
        self._digests: dict[str, str] = {}
        self._replaced: list[int] = []
        self._conversion: Conversion | None = None
        self._unsynced = False
        self._name_unsynced = False
        self._commit_begun = False
        """Since Parquet was last taken over: only then may the tails that it replaced go."""

    def append(self, number: int, rows: "FactRows") -> None:
        load_arrow()
        from whimbrel.facts.payload import payload  # pyarrow: not before the first commit

        self._commit_begun = True
        parts = payload(rows)
        if not parts:
            return
        file = self._open_tail()
        self._unsynced = True
        try:
            file.writev(frame(number, parts))
        finally:
            self._tails[self._number] = file.tell()

    def sync(self) -> None:
        self._commit_begun = True
        if self._unsynced and self._open is not None:
            self._open.fdatasync()
        self._unsynced = False
        if self._name_unsynced:
            self._disk.fsync_directory(self._folder)
            self._disk.fsync_directory(self._directory)  # the folder itself may be new
        self._name_unsynced = False

    def lengths(self) -> dict[str, int]:
        return {tail_name(number): length for number, length in sorted(self._tails.items())}

    def parquet(self) -> list[str]:
        return list(self._parquet)

    def digests(self) -> dict[str, str]:
        return dict(self._digests)

    def rotate(self) -> bool:
        """See the contract. An error of the conversion is raised here, once; the next call tries it again."""
        changed = False
        if self._conversion is not None and self._conversion.done:
            self._take_over()
            changed = True
        if self._conversion is None:
            if not self._waiting() and self._tails.get(self._number, 0) > self._config.tail_bytes:
                self._begin_next()
                changed = True
            self._convert()
        return changed

    def finish(self) -> bool:
        if self._commit_begun:
            self._unlink_replaced()
        changed = False
        if self._tails.get(self._number, 0):
            self._begin_next()
        while self._conversion is not None or self._waiting():
            self._convert()
            self._take_over()
            changed = True
        return changed

    def cut(self, number: int, lengths: dict[str, int], parquet: list[str]) -> None:
        self.close()
        surplus = self.check(number, lengths, parquet)
        tails = _tails(lengths)
        for tail, length in tails.items():
            self._shorten(self._path(tail_name(tail)), length)
        for name in surplus:
            self._disk.unlink(self._path(name))
        if surplus:
            self._disk.fsync_directory(self._folder)
        self._tails, self._parquet, self._replaced, self._digests = tails, list(parquet), [], {}
        last_parquet = max((found.number for name in parquet if (found := parquet_name(name))), default=0)
        self._number = max(last_parquet + 1, *tails, 1)
        self._unsynced = self._name_unsynced = self._commit_begun = False

    def check(self, number: int, lengths: dict[str, int], parquet: list[str]) -> list[str]:
        """What `cut` looks at before it changes anything; the files of ours that it would delete. FactsDamaged as
        there."""
        tails = _tails(lengths)
        kept = {*map(tail_name, tails), *parquet}
        surplus = [name for name in self._present() if name not in kept]
        for tail, length in tails.items():
            check_tail(self._path(tail_name(tail)), tail_name(tail), length, number)
        for name in parquet:
            check_parquet(self._path(name), name)
        for name in surplus:
            self._check_unlisted(name, number)
        return surplus

    def close(self) -> None:
        if self._conversion is not None:
            self._conversion.abandon()
            self._conversion = None
        if self._open is not None:
            self._open.close()
            self._open = None

    def _open_tail(self) -> DiskFile:
        if self._open is None:
            path = self._path(tail_name(self._number))
            if self._number in self._tails:
                self._open = self._disk.open_append(path)
            else:
                self._disk.make_directory(self._folder)
                self._name_unsynced = True
                self._open = self._disk.create_exclusive(path)
        return self._open

    def _begin_next(self) -> None:
        """The file itself is made by the next append."""
        if self._unsynced or self._name_unsynced:
            self.sync()
        if self._open is not None:
            self._open.close()
            self._open = None
        self._number += 1

    def _waiting(self) -> list[int]:
        return sorted(number for number in self._tails if number < self._number)

    def _convert(self) -> None:
        if self._conversion is None and (waiting := self._waiting()):
            number = waiting[0]
            self._conversion = Conversion(self._path(tail_name(number)), self._tails[number], number, self._disk)

    def _take_over(self) -> None:
        """Parquet stands for the tail from now on. Waits for the conversion if it must."""
        if self._conversion is None:
            return
        conversion, self._conversion = self._conversion, None
        try:
            paths = conversion.result()
        except Exception as error:
            code = error.errno if isinstance(error, OSError) and error.errno else errno.EIO
            # Arrow says nothing at all when what it calls could have no memory.
            reason = str(error) or f"malloc or another call failed in {type(error).__name__}"
            what = f"{tail_name(conversion.number)} could not be written as Parquet: {reason}"
            raise OSError(code, what) from error
        if self._commit_begun:
            self._unlink_replaced()
        for path, digest in paths.items():
            name = path.relative_to(self._directory).as_posix()
            self._parquet.append(name)
            self._digests[name] = digest
        del self._tails[conversion.number]
        self._replaced.append(conversion.number)
        self._commit_begun = False

    def _unlink_replaced(self) -> None:
        while self._replaced:
            with suppress(FileNotFoundError):
                self._disk.unlink(self._path(tail_name(self._replaced[-1])))
            self._replaced.pop()

    def _present(self) -> list[str]:
        """Our own files. Whatever else lies in the folder is left alone."""
        if not self._folder.is_dir():
            return []
        names = [f"facts/{name}" for name in self._disk.listdir(self._folder)]
        return [name for name in names if is_ours(name)]

    def _check_unlisted(self, name: str, number: int) -> None:
        if tail_number(name) is not None:
            check_unlisted_tail(self._path(name), name, number)
        elif parquet_name(name) is not None:
            from whimbrel.facts.parquet import last_commit  # pyarrow: rarely needed at the start

            check_surplus(name, last_commit(self._path(name)), number)

    def _shorten(self, path: Path, length: int) -> None:
        if self._disk.length(path) > length:
            file = self._disk.open_append(path)
            try:
                file.truncate(length)
                file.fdatasync()
            finally:
                file.close()

    def _path(self, name: str) -> Path:
        return self._directory / name


def _tails(lengths: dict[str, int]) -> dict[int, int]:
    return {number: length for name, length in lengths.items() if (number := tail_number(name)) is not None}
