"""The last commit, as published for readers."""

import os
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import msgspec

from whimbrel.commit import import_list
from whimbrel.commit.counters import Counters, counters_of_format_1
from whimbrel.durable_file import Disk
from whimbrel.error import Damaged, UsageError, WhimbrelError

NAME: Final = "COMMITTED"
FORMAT: Final = 2
IMPORT_LIST: Final = import_list.NAME
"""What an import was begun with; of a crawl that was imported, and may have any number of captures of a URL."""


class NotACrawl(WhimbrelError):
    """A directory that holds no crawl that can be read. Begin one there, or name another directory."""

    exit_code = 2


class CommittedDamaged(NotACrawl, Damaged):
    """COMMITTED, the list of what is durable, is damaged; `whimbrel resume` writes it anew."""

    remedy = ""


class Committed(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that is durable, and nothing else. Readers use it with `pread` and never open the database."""

    format: int = FORMAT
    """Of this description, and of the crawl's files as a whole."""
    number: int = 0
    at_s: float = 0.0
    """Wall clock."""
    files: dict[str, int] = {}
    """WARC segments and tails of the facts, by their names in the crawl's directory, with their lengths."""
    parquet: list[str] = []
    digests: dict[str, str] = {}
    """`sha256:` and 64 hexadecimal digits, of sealed segments and Parquet files. One that has been sealed just now is
    listed by the next commit; the last one of a crawl that is `done` lists all. Earlier versions list none."""
    counters: Counters = msgspec.field(default_factory=Counters)
    state: str = "running"
    """`running`, `stopped` with work left, or `done`. A crawl that was killed still says `running`."""
    seeded: bool = True
    """Whether all seeds are in it. Earlier versions do not say it."""

    def archive(self) -> dict[str, int]:
        return {name: length for name, length in self.files.items() if name.startswith("archive/")}

    def facts(self) -> dict[str, int]:
        return {name: length for name, length in self.files.items() if name.startswith("facts/")}


class _Format(msgspec.Struct, frozen=True):
    format: int = 1


class _Format1(msgspec.Struct, frozen=True, kw_only=True):
    """As it was: counters by names that were put together from words."""

    number: int = 0
    at_s: float = 0.0
    files: dict[str, int] = {}
    parquet: list[str] = []
    counters: dict[str, int] = {}
    state: str = "running"


class CrawlTooNew(UsageError):
    """A later version of Whimbrel has worked on the crawl. Use that version, or a later one."""


Decode = Callable[[bytes, type[Any]], Any]


def decoded(data: bytes, decode: Decode, where: str) -> Committed:
    """A description of any format up to this one, from JSON (COMMITTED) or MessagePack (the state)."""
    found: int = decode(data, _Format).format
    if found > FORMAT:
        raise CrawlTooNew(
            f"{where} has format {found}; this version of Whimbrel reads up to {FORMAT}. Nothing was changed; use the "
            "version that wrote it, or a later one"
        )
    if found == FORMAT:
        committed: Committed = decode(data, Committed)
        return committed
    old: _Format1 = decode(data, _Format1)
    counters = counters_of_format_1(old.counters)
    return Committed(
        number=old.number, at_s=old.at_s, files=old.files, parquet=old.parquet, counters=counters, state=old.state
    )


def publish(directory: Path, committed: Committed, disk: Disk) -> None:
    """Replace the published commit by this one, at once for every reader."""
    temporary = directory / f"{NAME}.tmp"
    if temporary.exists():
        disk.unlink(temporary)
    file = disk.create_exclusive(temporary)
    try:
        file.write(encode(committed))
        file.fdatasync()
    finally:
        file.close()
    disk.replace(temporary, directory / NAME)


def encode(committed: Committed) -> bytes:
    body = msgspec.json.encode(committed)
    return b"%08x %b\n" % (zlib.crc32(body), body)


def decode(data: bytes, where: str) -> Committed:
    checksum, _, body = data.rstrip(b"\n").partition(b" ")
    try:
        if checksum == b"%08x" % zlib.crc32(body):
            return decoded(body, _from_json, where)
    except (ValueError, msgspec.DecodeError, RecursionError):
        pass
    raise CommittedDamaged(f"{where} is damaged; `whimbrel resume` writes it anew")


def _from_json(data: bytes, kind: type[Any]) -> Any:
    return msgspec.json.decode(data, type=kind)


def read_committed(directory: Path) -> Committed:
    """The last commit of a crawl, running or not."""
    path = directory / NAME
    try:
        data = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        known = (directory / "state").is_dir()
        said = (
            "has not committed anything yet" if known else "holds no crawl; `whimbrel crawl SEED --into DIR` makes one"
        )
        raise NotACrawl(f"{directory} {said}") from None
    return decode(data, os.fspath(path))
