"""The state of a crawl for readers: as it was committed last, without the lock, also while the crawl runs."""

from collections.abc import Iterator
from contextlib import ExitStack, suppress
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, Self

from whimbrel.state.api import SPACES, StateDamaged
from whimbrel.state.rocks import FORMAT, FORMAT_KEY, RocksState, cannot_open, stored_pairs, stored_value, wrong_format

_ATTEMPTS: Final = 5
"""A running crawl may delete a file between the moment at which it is found and that at which it is opened."""


class StateReader:
    """Use as a context; StateError when there is no state that can be read. RocksDB calls it a secondary instance: it
    opens the crawl's own files, all of them at once, and writes nothing there. What it sees changes only by
    `catch_up`."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / RocksState.folder
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            messages = stack.enter_context(TemporaryDirectory(prefix="whimbrel-state-"))
            self._database = self._opened(messages)
            stack.callback(self._database.close)
            found = stored_value(self._database.get_column_family("meta"), self._path, FORMAT_KEY)
            if found is not None and found != FORMAT:
                raise wrong_format(self._path, found)
            self._families = {space: self._database.get_column_family(space) for space in SPACES}
            stack.callback(self._families.clear)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _opened(self, messages: str) -> Any:
        if not self._path.is_dir():
            raise StateDamaged(f"{self._path} is not there")
        for _ in range(_ATTEMPTS - 1):
            with suppress(Exception):  # rocksdict has no kinds of errors
                return self._open(messages)
        try:
            return self._open(messages)
        except Exception as error:
            raise cannot_open(self._path, error) from error

    def _open(self, messages: str) -> Any:
        from rocksdict import AccessType, Options, Rdict

        spaces = {name: Options(raw_mode=True) for name in Rdict.list_cf(str(self._path))}
        access = AccessType.secondary(messages)
        return Rdict(str(self._path), Options(raw_mode=True), column_families=spaces, access_type=access)

    def catch_up(self) -> None:
        """See what was committed meanwhile."""
        try:
            self._database.try_catch_up_with_primary()
        except Exception as error:
            raise cannot_open(self._path, error) from error

    def get(self, space: str, key: bytes) -> bytes | None:
        """The value of a key; None when there is none. A value may be empty."""
        return stored_value(self._families[space], self._path, key)

    def scan(self, space: str, start: bytes, end: bytes, most: int) -> list[tuple[bytes, bytes]]:
        """Up to `most` pairs with start <= key < end, in the order of keys."""
        return list(islice(self._pairs(space, start, end), most))

    def _pairs(self, space: str, start: bytes, end: bytes) -> Iterator[tuple[bytes, bytes]]:
        return stored_pairs(self._families[space], self._path, start, end)
