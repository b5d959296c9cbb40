"""The state in RocksDB."""

import errno
import os
import re
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from whimbrel.flow import Provider
from whimbrel.state.api import SPACES, StateDamaged, StateError, StateFull, StateTooNew, StateTooOld, StateUnavailable
from whimbrel.state.group import Group, merged
from whimbrel.state.lock import state_locked
from whimbrel.state.log_file import log_damage
from whimbrel.state.option import RocksConfig, space_options
from whimbrel.state.secret import crawl_secret

FORMAT: Final = b"2"
"""Version of the keys and values; an upgrade rewrites what differs and then this."""
FORMAT_KEY: Final = b"format"
_NONE: Final[Mapping[bytes, bytes]] = MappingProxyType({})
_REOPEN_BYTES: Final = 1_000_000
"""Besides its logs, which it writes out as files when it is opened: a manifest, options and the like."""


class RocksState(Provider):
    """`open`, `get`, `put`, `delete`, `scan`, `seal`, `forget` and `reopen` belong to the event loop's thread, `write`
    and `stored` to the committer's. Both may run at once: a sealed group is never changed, and RocksDB reads and writes
    side by side. Only `reopen` may not: it is called while the committer rests."""

    Config = RocksConfig
    fixed = "everything that is known is in it"
    lasting = frozenset({"directory"})
    folder = "state"
    """Where the database is, in the crawl's directory."""

    async def open(self) -> None:
        from rocksdict import Cache

        self._path = Path(self.config.directory) / self.folder
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._cache = Cache(self.config.cache_bytes)
        self._sealed: deque[Group] = deque()
        self._open = Group(1)
        self.failed = False
        """A write failed: RocksDB takes no other until it is opened anew."""
        self._attach()
        self._check_format()
        try:
            self.secret = crawl_secret(Path(self.config.directory), self)
        except StateError:
            self._detach()
            raise

    def _attach(self, *, read_only: bool = False) -> None:
        from rocksdict import AccessType, Rdict

        check_manifest(self._path)
        spaces = {space: self._options(point=part is None) for space, part in SPACES.items()}
        access = AccessType.read_only(False) if read_only else AccessType.read_write()  # noqa: FBT003
        try:
            self._database = Rdict(
                str(self._path), self._options(point=True), column_families=spaces, access_type=access
            )
        except Exception as error:
            raise cannot_open(self._path, error) from error
        self._families = {space: self._database.get_column_family(space) for space in SPACES}
        self._handles = {space: self._database.get_column_family_handle(space) for space in SPACES}

    def _options(self, *, point: bool) -> Any:
        return space_options(self.config, self._cache, point=point)

    def _detach(self) -> None:
        """RocksDB tidies up when it is closed, and says so when it cannot. Every group is durable without that."""
        self._families.clear()
        self._handles.clear()
        with suppress(Exception):
            self._database.close()

    def _check_format(self) -> None:
        found = self.get("meta", FORMAT_KEY)
        if found is None:
            self.put("meta", FORMAT_KEY, FORMAT)
        elif found != FORMAT:
            self._detach()
            raise wrong_format(self._path, found)

    async def close(self) -> None:
        self._detach()

    def reopen(self) -> None:
        """After a write that failed. What it left is now there as a whole or not at all, as `stored` tells.

        StateFull when there is no room for that yet; the state can be read all the same.
        """
        logs_bytes = sum(path.stat().st_size for path in self._path.glob("*.log"))
        room = os.statvfs(self._path)
        if room.f_bavail * room.f_frsize < 2 * logs_bytes + _REOPEN_BYTES:
            raise StateFull(f"{self._path} needs {(2 * logs_bytes + _REOPEN_BYTES) / 1e6:,.0f} MB to be opened again")
        self._detach()
        try:
            self._attach()
        except StateError:
            self._attach(read_only=True)
            raise
        self.failed = False

    def get(self, space: str, key: bytes) -> bytes | None:
        part = self._open.part(space, key)
        if key in part:
            return part[key]
        for group in reversed(self._sealed):
            part = group.part(space, key)
            if key in part:
                return part[key]
        try:
            found: bytes | None = self._families[space].get(key)
        except Exception as error:  # rocksdict has no kinds of errors
            raise _cannot_read(self._path, error) from error
        return found

    def put(self, space: str, key: bytes, value: bytes) -> None:
        self._open.set(space, key, value)

    def delete(self, space: str, key: bytes) -> None:
        self._open.set(space, key, None)

    def scan(self, space: str, start: bytes, end: bytes, most: int) -> list[tuple[bytes, bytes]]:
        layers = [group.part(space, start) for group in self._sealed]
        layers.append(self._open.part(space, start))
        return merged(layers, self._stored(space, start, end), start, end, most)

    def pairs(self, space: str, start: bytes, end: bytes, most: int) -> list[tuple[bytes, bytes]]:
        layers = [part for group in (*self._sealed, self._open) for part in group.parts(space)]
        return merged(layers, self._stored(space, start, end), start, end, most)

    def _stored(self, space: str, start: bytes, end: bytes) -> Iterator[tuple[bytes, bytes]]:
        return stored_pairs(self._families[space], self._path, start, end)

    @property
    def changed(self) -> int:
        """How many keys the open group changes."""
        return len(self._open)

    @property
    def changed_bytes(self) -> int:
        return self._open.bytes

    def seal(self, number: int) -> Group:
        """End the open group and begin the next. The sealed one stays visible until it is forgotten."""
        group = self._open
        group.number = number
        self._sealed.append(group)
        self._open = Group(number + 1)
        return group

    def write(self, group: Group, meta: Mapping[bytes, bytes] = _NONE) -> None:
        """Make a sealed group durable, all of it or nothing, and with it these keys of the space `meta`.

        After an OSError the state has `failed`: the group may be there or not. It may be written again once the state
        is reopened.
        """
        from rocksdict import WriteBatch

        batch = WriteBatch(raw_mode=True)
        handles = self._handles
        for space, key, value in group.changes():
            if value is None:
                batch.delete(key, handles[space])
            else:
                batch.put(key, value, handles[space])
        for key, value in meta.items():
            batch.put(key, value, handles["meta"])
        try:
            # Not a synced write: rocksdict keeps Python's lock during that, and everything would stand still.
            self._database.write(batch)
            self._database.flush_wal(sync=True)
        except Exception as error:
            self.failed = True
            code = errno.ENOSPC if "No space left" in str(error) else errno.EIO
            raise OSError(code, f"the state cannot be written: {error}") from error

    def stored(self, space: str, key: bytes) -> bytes | None:
        """What is durable, whatever the groups in memory say. OSError when a failed write leaves that open."""
        if self.failed:
            raise OSError(errno.EIO, "the state must be opened again after a write that failed")
        return stored_value(self._families[space], self._path, key)

    def forget(self, group: Group) -> None:
        """The write of the oldest sealed group has returned: its changes are read from the disk from now on."""
        if self._sealed[0] is not group:
            raise AssertionError("groups are written in order")
        self._sealed.popleft()

    def keys(self, space: str) -> Iterator[bytes]:
        """All keys of a space, for those who build a filter from them. Keys that were deleted may be among them."""
        for group in (*self._sealed, self._open):
            yield from group.keys(space)
        for key, _ in stored_pairs(self._families[space], self._path):
            yield key


def check_manifest(path: Path) -> None:
    """StateDamaged when RocksDB would go on without a part of its list of files, and make empty spaces for those that
    it does not find there."""
    for damage in log_damage(path, all_logs=False):
        raise StateDamaged(
            f"{path / damage.file} is damaged at byte {damage.offset:,}: {damage.what}. Nothing was changed; bring "
            "back the whole directory from a copy"
        )


def cannot_open(path: Path, error: Exception) -> StateError:
    # Not "While open a file for lock", which is any trouble with opening files.
    if re.search("lock hold|while lock file", str(error), re.IGNORECASE):
        return state_locked(path.parent)
    if "column families not opened: seen" in str(error).lower():
        return wrong_format(path, b"1")
    if "column families not opened" in str(error).lower():
        return StateTooNew(f"{path} was written by a later version of Whimbrel ({error}); nothing was changed")
    if _is_of_the_system(error):
        return _unavailable(path, "opened", error)
    return StateDamaged(f"{path} cannot be opened: {error}")


def stored_value(family: Any, path: Path, key: bytes) -> bytes | None:
    """What a column family holds under a key. StateDamaged where it cannot be read."""
    try:
        found: bytes | None = family.get(key)
    except Exception as error:  # rocksdict has no kinds of errors
        raise _cannot_read(path, error) from error
    return found


def stored_pairs(
    family: Any, path: Path, start: bytes = b"", end: bytes | None = None
) -> Iterator[tuple[bytes, bytes]]:
    """What a column family holds from `start` to before `end`, in order. StateDamaged where it cannot be read: an
    iterator of RocksDB ends at damage as it does behind the last key."""
    found = family.iter()
    found.seek(start)
    while found.valid():
        key = found.key()
        if end is not None and key >= end:
            return
        yield key, found.value()
        found.next()
    try:
        found.status()
    except Exception as error:  # rocksdict has no kinds of errors
        raise _cannot_read(path, error) from error


def _cannot_read(path: Path, error: Exception) -> StateError:
    if _is_of_the_system(error):
        return _unavailable(path, "read", error)
    return StateDamaged(f"{path} cannot be read: {error}. Bring back the whole directory from a copy")


def format_of(stored: bytes | None) -> int:
    """0 when there is none: the first commit was not made yet."""
    return int(stored) if stored is not None and stored.isdigit() else 0


def wrong_format(path: Path, stored: bytes) -> StateError:
    """Why a state of another format cannot be used. Nothing was changed."""
    if 0 < format_of(stored) < int(FORMAT):
        return StateTooOld(
            f"{path} has format {stored.decode()}, of an earlier version of Whimbrel; `whimbrel resume {path.parent}` "
            f"brings it to format {FORMAT.decode()}. Nothing was changed"
        )
    return StateTooNew(
        f"{path} has format {stored.decode(errors='replace')}; this version of Whimbrel reads "
        f"{FORMAT.decode()}. Nothing was changed; go on with the version that wrote it, or a later one"
    )


def _is_of_the_system(error: Exception) -> bool:
    """Not what the files hold is wrong: they could not be opened, read or written. A file that is missing is damage."""
    said = str(error)
    # The second is what RocksDB says when it could not open a file for a first look.
    return (said.startswith("IO error") and "No such file" not in said) or "Direct I/O is not supported" in said


def _unavailable(path: Path, what: str, error: Exception) -> StateUnavailable:
    return StateUnavailable(
        f"{path} cannot be {what}: {error}. Nothing that was committed is lost: mend that (room, permissions, open "
        "files, memory, the disk itself), then `whimbrel resume` the crawl"
    )
