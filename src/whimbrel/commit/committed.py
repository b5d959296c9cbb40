"""The last commit, as published for readers."""

import os
import zlib
from pathlib import Path
from typing import Final

import msgspec

from whimbrel.disk import Disk
from whimbrel.error import Damaged, WhimbrelError

NAME: Final = "COMMITTED"


class NotACrawl(WhimbrelError):
    """A directory that holds no crawl that can be read. Begin one there, or name another directory."""

    exit_code = 2


class CommittedDamaged(NotACrawl, Damaged):
    """COMMITTED, the list of what is durable, is damaged; `whimbrel resume` writes it anew."""


class Committed(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that is durable, and nothing else. Readers use it with `pread` and never open the database."""

    number: int = 0
    at_s: float = 0.0
    """Wall clock."""
    files: dict[str, int] = {}
    """WARC segments and tails of the facts, by their names in the crawl's directory, with their lengths."""
    parquet: list[str] = []
    counters: dict[str, int] = {}
    """`visits`, `bytes`, `queued`, `hosts`, `outcome OUTCOME`, `reason OUTCOME REASON`, `refused REASON`, …"""
    state: str = "running"
    """`running`, `stopped` with work left, or `done`. A crawl that was killed still says `running`."""

    def archive(self) -> dict[str, int]:
        return {name: length for name, length in self.files.items() if name.startswith("archive/")}

    def facts(self) -> dict[str, int]:
        return {name: length for name, length in self.files.items() if name.startswith("facts/")}


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
        if int(checksum, 16) == zlib.crc32(body):
            return msgspec.json.decode(body, type=Committed)
    except (ValueError, msgspec.DecodeError):
        pass
    raise CommittedDamaged(f"{where} is damaged; `whimbrel resume` writes it anew")


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
