"""A state of format 1 becomes one of format 2.

A complete new database is made beside the old one, which stays as it is; then the two change places by renaming. A kill
at any instant leaves the old one, or the new one, or both of them whole with one name missing: the next start finishes
what was begun, or begins again. All that time the old database is locked, so that nobody else works on the crawl.

The keys of format 1's URL-seen are bare hashes, which tell no slot. Known URLs come from the tables instead, as far as
the state's own commit lists them, and from the queues.
"""

import asyncio
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

import msgspec

from whimbrel.commit.crash import Crash
from whimbrel.commit.recovery import last_commit
from whimbrel.dedupe.api import FirstCapture
from whimbrel.dedupe.rocks import content_key
from whimbrel.durable_file import Disk
from whimbrel.facts.identity import url_id
from whimbrel.frontier.entry import UrlRecord, decode_entry, encode_url
from whimbrel.frontier.host import HostTable, decode_host, encode_host
from whimbrel.frontier.meta import Meta, SlotRecord, encode_slot, write_meta
from whimbrel.frontier.order import HOST_BYTES, retry_key, time_of, waiting_key
from whimbrel.outcome import Outcome
from whimbrel.state.api import SLOT_BYTES, StateDamaged
from whimbrel.state.lock import locked
from whimbrel.state.option import RocksConfig
from whimbrel.state.rocks import FORMAT_KEY, RocksState, stored_pairs, stored_value, wrong_format
from whimbrel.state.secret import crawl_secret
from whimbrel.url import Url, query_group, restore
from whimbrel.url.domain import Domains
from whimbrel.url.key import Keys

Say = Callable[[str], None]

OLD: Final = f"{RocksState.folder}.format-1"
NEW: Final = f"{RocksState.folder}.upgrade"
_AT_ONCE: Final = 20_000
"""Changes that are held in memory."""
_SAY_EVERY: Final = 1_000_000
_TIME_BYTES: Final = 8


class Upgraded(NamedTuple):
    urls: int
    known: int
    """URLs that format 1 knew."""


class _Places:
    """Where the databases are: beside each other, also when `state` is a link to another disk."""

    def __init__(self, directory: Path) -> None:
        self.state = (directory / RocksState.folder).resolve()
        self.old = self.state.with_name(f"{self.state.name}{Path(OLD).suffix}")
        self.new = self.state.with_name(f"{self.state.name}{Path(NEW).suffix}")


def upgrade(directory: Path, *, by_domain: bool, say: Say, crash: Crash) -> Upgraded | None:
    """Bring the state of a crawl to the present format; None when there is nothing to do. `by_domain`: hosts are
    grouped into slots by registered domain. StateError when the state is in use, damaged, or of a later version."""
    places = _Places(directory)
    _finish_renaming(places, directory)
    if "seen" not in _spaces(places.state):
        return None
    with locked(places.state, directory):
        say(f"{directory} was written by an earlier version: bringing its state to format 2")
        shutil.rmtree(places.new, ignore_errors=True)
        with _OldState(places.state) as old:
            done = asyncio.run(_copied(directory, places.new, old, by_domain=by_domain, say=say))
        if done.urls < done.known:
            raise StateDamaged(
                f"{directory} knows {done.known:,} URLs, and its tables and queues have only {done.urls:,} of them: a "
                f"table is damaged. Nothing was changed; `whimbrel verify {directory}` names it, bring it back"
            )
        crash.reach("upgrade-copied")
        disk = Disk()
        disk.fsync_directory(places.new)
        disk.fsync_directory(places.new.parent)
        crash.reach("upgrade-synced")
        _rename(disk, places.state, places.old)
        crash.reach("upgrade-renamed")
        _rename(disk, places.new, places.state)
        crash.reach("upgrade-replaced")
    shutil.rmtree(places.old)
    say(f"{done.urls:,} known URLs are in the new state")
    return done


def _finish_renaming(places: _Places, directory: Path) -> None:
    """An upgrade was killed while it renamed: go on where it was. The old state goes only when the new one is in its
    place, and not when something else is."""
    if not places.old.exists():
        return
    if not places.state.exists():
        with locked(places.old, directory):
            _rename(Disk(), places.new if places.new.exists() else places.old, places.state)
    elif places.new.exists() or "urls" not in _spaces(places.state):
        raise StateDamaged(
            f"{places.state} is not what the upgrade of {places.old} made of it: another version of Whimbrel, or a "
            f"backup, put it there. Nothing was changed; move it out of the way, then resume again"
        )
    if places.old.exists():
        shutil.rmtree(places.old)


def _rename(disk: Disk, source: Path, target: Path) -> None:
    source.rename(target)
    disk.fsync_directory(target.parent)


def _spaces(path: Path) -> list[str]:
    """The spaces of a database, without opening it; none when there is no database."""
    from rocksdict import Rdict

    if not (path / "CURRENT").exists():
        return []
    try:
        found: list[str] = Rdict.list_cf(str(path))
    except Exception as error:
        raise StateDamaged(f"{path} cannot be opened: {error}") from error
    return found


class _OldState:
    """The database of format 1, only to be read."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> Self:
        from rocksdict import AccessType, Options, Rdict

        def options() -> Any:
            return Options(raw_mode=True)

        names, access = _spaces(self._path), AccessType.read_only(False)  # noqa: FBT003
        try:
            self._database = Rdict(
                str(self._path), options(), column_families={name: options() for name in names}, access_type=access
            )
        except Exception as error:
            raise StateDamaged(f"{self._path} cannot be opened: {error}") from error
        self._families = {name: self._database.get_column_family(name) for name in names}
        stored = self.get("meta", FORMAT_KEY)
        if stored not in (None, b"1"):
            self.__exit__()
            raise wrong_format(self._path, stored or b"")
        return self

    def __exit__(self, *_: object) -> None:
        self._families.clear()
        self._database.close()

    def get(self, space: str, key: bytes) -> bytes | None:
        return stored_value(self._families[space], self._path, key)

    def pairs(self, space: str) -> Iterator[tuple[bytes, bytes]]:
        return stored_pairs(self._families[space], self._path)

    def put(self, space: str, key: bytes, value: bytes) -> None:
        raise AssertionError(f"the old state is not written to: {space} {key!r} {value!r}")


class _NewState(RocksState):
    """The new database, until it takes the old one's place."""

    def __init__(self, config: RocksConfig, path: Path) -> None:
        super().__init__(config)
        self.folder = str(path)


class _OldMeta(msgspec.Struct, array_like=True):
    """What the frontier kept of itself in format 1."""

    number: int = 0
    queued: int = 0
    taken: int = 0
    hosts: int = 0
    max_pages_per_host: int | None = None
    order: str = ""
    order_changes: int = 0
    block: tuple[str, ...] = ()


async def _copied(directory: Path, path: Path, old: _OldState, *, by_domain: bool, say: Say) -> Upgraded:
    if old.get("meta", b"secret") is not None:
        crawl_secret(directory, old)
    new = _NewState(RocksConfig(directory=str(directory)), path)
    await new.open()
    try:
        return _Copy(directory, old, new, by_domain=by_domain, say=say).run()
    finally:
        await new.close()


class _Copy:
    def __init__(self, directory: Path, old: _OldState, new: RocksState, *, by_domain: bool, say: Say) -> None:
        self._directory, self._old, self._new, self._say = directory, old, new, say
        self._keys = Keys(new.secret)
        self._table = HostTable(new, self._keys, Domains(), by_domain=by_domain)
        self._slots: dict[bytes, SlotRecord] = {}
        self._commits = 0
        self._urls = 0
        found = old.get("meta", b"frontier")
        self._meta = _OldMeta() if found is None else msgspec.msgpack.decode(found, type=_OldMeta)
        self._number = self._meta.number

    def run(self) -> Upgraded:
        self._copy_meta()
        for key, value in self._old.pairs("robots"):
            self._put("robots", key, value)
        for key, value in self._old.pairs("content"):
            earlier = msgspec.msgpack.decode(value, type=FirstCapture)
            # The rows of format 1 keep their ids, also when they are written again.
            known = msgspec.structs.replace(earlier, legacy_id=url_id(earlier.url))
            self._put("content", content_key(key), msgspec.msgpack.encode(known))
        self._copy_queues()
        self._copy_hosts()
        if self._old.get("meta", b"secret") is not None:
            self._know_visited()
        self._commit()
        return Upgraded(self._urls, sum(1 for _ in self._old.pairs("seen")))

    def _copy_meta(self) -> None:
        for key, value in self._old.pairs("meta"):
            if key not in (FORMAT_KEY, b"frontier"):
                self._put("meta", key, value)
        if self._old.get("meta", b"frontier") is not None:
            old = self._meta
            write_meta(self._new, Meta(old.max_pages_per_host, old.order, old.order_changes, old.block))

    def _copy_queues(self) -> None:
        """Entries that wait to be tried again are among the others now. Numbers were of the whole crawl, so they are
        unique in each host, too."""
        for key, value in self._old.pairs("retry"):
            self._number += 1
            waiting = waiting_key(key[_TIME_BYTES : _TIME_BYTES + HOST_BYTES], time_of(key), self._number)
            self._put("retry", retry_key(waiting), b"")
            self._queue(waiting, value)
        for key, value in self._old.pairs("queue"):
            self._queue(key, value)

    def _queue(self, key: bytes, value: bytes) -> None:
        self._put("queue", key, value)
        url = restore(decode_entry(value).url)
        url_key = self._table.url_key(url)
        if self._new.get("urls", url_key) is None:
            self._know(url, url_key, encode_url(UrlRecord(key)))

    def _copy_hosts(self) -> None:
        for key, value in self._old.pairs("hosts"):
            record, slot = decode_host(value), key[:SLOT_BYTES]
            record.name = msgspec.structs.replace(record.name, slot=int.from_bytes(slot, "big"))
            record.number = max(1, self._number)
            self._put("hosts", key, encode_host(record))
            if record.due:
                self._put("due", record.due, b"")
            counts = self._slots.setdefault(slot, SlotRecord())
            counts.queued, counts.taken = counts.queued + record.queued, counts.taken + record.taken
            counts.hosts += 1
        for slot, counts in self._slots.items():
            self._put("slots", slot, encode_slot(counts))

    def _know_visited(self) -> None:
        from whimbrel.facts.read import read_columns  # pyarrow: only for this

        last = last_commit(self._old.get)
        columns = ("url", "outcome")
        for batch in read_columns(self._directory, "fetches", columns, last.facts(), last.parquet):
            for text, outcome in zip(batch["url"].to_pylist(), batch["outcome"].to_pylist(), strict=True):
                url = restore(text)
                url_key = self._table.url_key(url)
                if self._new.get("urls", url_key) is None:
                    self._know(url, url_key, b"", counted=outcome != Outcome.DROPPED.value)

    def _know(self, url: Url, url_key: bytes, record: bytes, *, counted: bool = True) -> None:
        self._put("urls", url_key, record)
        self._urls += 1
        if self._urls % _SAY_EVERY == 0:
            self._say(f"{self._urls:,} known URLs so far")
        group = query_group(url) if counted else None
        if group is not None:
            key = url_key[:SLOT_BYTES] + self._keys.url(group)
            before = self._new.get("counts", key) or b""
            self._put("counts", key, (int.from_bytes(before, "little") + 1).to_bytes(4, "little"))

    def _put(self, space: str, key: bytes, value: bytes) -> None:
        self._new.put(space, key, value)
        if self._new.changed >= _AT_ONCE:
            self._commit()

    def _commit(self) -> None:
        self._commits += 1
        group = self._new.seal(self._commits)
        self._new.write(group)
        self._new.forget(group)
