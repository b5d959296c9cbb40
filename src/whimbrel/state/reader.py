"""The state of a crawl for readers: as it was committed last, without the lock, also while the crawl runs."""

from collections.abc import Iterator
from contextlib import ExitStack, suppress
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, Self

from whimbrel.state.api import SPACES, StateDamaged, StateLocked
from whimbrel.state.lock import check_unlocked
from whimbrel.state.option import RocksConfig, space_options
from whimbrel.state.rocks import (
    FORMAT,
    FORMAT_KEY,
    RocksState,
    cannot_open,
    check_manifest,
    stored_pairs,
    stored_value,
    wrong_format,
)

_CACHE_BYTES: Final = 8_000_000
_ATTEMPTS: Final = 5
"""A running crawl may delete a file between the moment at which it is found and that at which it is opened."""


class StateReader:
    """Use as a context; StateError when there is no state that can be read. It opens the crawl's own files, all of them
    at once, and writes nothing there.

    Beside a running crawl it is what RocksDB calls a secondary instance: what it sees changes only by `catch_up`. Such
    an instance passes over files that it cannot open, since they may have been replaced meanwhile; so where no crawl
    runs it is one that only reads, and refuses those."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / RocksState.folder
        self._stack = ExitStack()
        self.live = False
        """Whether a crawl ran when this was opened."""

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            messages = stack.enter_context(TemporaryDirectory(prefix="whimbrel-state-"))
            self._database = self._opened(messages)
            stack.callback(self._database.close)
            found = stored_value(self._family("meta"), self._path, FORMAT_KEY)
            if found is not None and found != FORMAT:
                raise wrong_format(self._path, found)
            self._families = {space: self._family(space) for space in SPACES}
            stack.callback(self._families.clear)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _family(self, space: str) -> Any:
        try:
            return self._database.get_column_family(space)
        except Exception as error:  # rocksdict has no kinds of errors
            raise StateDamaged(
                f"{self._path} has lost its space {space!r}. Bring back the whole directory from a copy"
            ) from error

    def _opened(self, messages: str) -> Any:
        if not self._path.is_dir():
            raise StateDamaged(f"{self._path} is not there")
        self.live = self._is_live()
        if not self.live:
            check_manifest(self._path)
        for _ in range(_ATTEMPTS - 1):
            with suppress(Exception):  # rocksdict has no kinds of errors
                return self._open(messages)
        try:
            return self._open(messages)
        except Exception as error:
            raise cannot_open(self._path, error) from error

    def _open(self, messages: str) -> Any:
        from rocksdict import AccessType, Cache, Rdict

        config, cache = RocksConfig(), Cache(_CACHE_BYTES)
        names = Rdict.list_cf(str(self._path))
        spaces = {name: space_options(config, cache, point=SPACES.get(name) is None) for name in names}
        options = space_options(config, cache, point=True)
        options.set_max_open_files(-1)
        access = AccessType.secondary(messages) if self.live else AccessType.read_only(False)  # noqa: FBT003
        return Rdict(str(self._path), options, column_families=spaces, access_type=access)

    def _is_live(self) -> bool:
        try:
            check_unlocked(self._path.parent, self._path)
        except StateLocked:
            return True
        return False

    def catch_up(self) -> None:
        """See what was committed meanwhile; nothing is where no crawl ran when this was opened."""
        if not self.live:
            return
        try:
            self._database.try_catch_up_with_primary()
        except Exception as error:
            raise cannot_open(self._path, error) from error

    def get(self, space: str, key: bytes) -> bytes | None:
        """The value of a key; None when there is none. A value may be empty."""
        return stored_value(self._families[space], self._path, key)

    def scan(self, space: str, start: bytes, end: bytes, most: int) -> list[tuple[bytes, bytes]]:
        """Up to `most` pairs with start <= key < end, in the order of keys."""
        return list(islice(stored_pairs(self._families[space], self._path, start, end), most))

    def pairs(self, space: str) -> Iterator[tuple[bytes, bytes]]:
        """All of a space, in the order of keys."""
        return stored_pairs(self._families[space], self._path)
