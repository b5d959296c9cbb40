"""Back to the last commit, after a crash or after a commit that failed: what it does not list is cut away."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import msgspec

from whimbrel.archive.api import Archive
from whimbrel.commit.committed import Committed, NotACrawl, decoded, read_committed
from whimbrel.durable_file import Disk
from whimbrel.error import Damaged
from whimbrel.facts.api import Facts

META_KEY: Final = b"commit"
"""Where the state keeps the description of the last commit, in its space `meta`."""


class CrawlDamaged(Damaged):
    """The files are not what the last commit says; the message says which, and that nothing was changed."""


def last_commit(state_get: Callable[[str, bytes], bytes | None]) -> Committed:
    """The last commit, from the state itself; the published file may be older, or gone."""
    found = state_get("meta", META_KEY)
    try:
        return Committed() if found is None else decoded(found, _from_msgpack, "the state")
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise CrawlDamaged(f"what the state has of the last commit cannot be read: {error}") from error


def _from_msgpack(data: bytes, kind: type[Any]) -> Any:
    return msgspec.msgpack.decode(data, type=kind)


def check_published(directory: Path, last: Committed) -> None:
    """CrawlDamaged when a later commit was published than the state knows. A commit is published when it is in the
    state for good: it has been lost there, and files that only it lists would be cut."""
    try:
        published = read_committed(directory).number
    except NotACrawl:
        return
    if published > last.number:
        raise CrawlDamaged(
            f"commit {published:,} was published, but the state ends with {last.number:,}. No file was cut; bring back "
            "the whole directory from a copy"
        )


def check_listed(directory: Path, last: Committed, disk: Disk) -> None:
    """CrawlDamaged for a listed file that is missing or too short. Both the archive and the facts refuse such a file;
    but one of them must not have been cut by then."""
    for name, length in last.files.items():
        path = directory / name
        if not path.exists():
            raise CrawlDamaged(f"{name} is missing; commit {last.number} lists {length:,} bytes of it")
        found = disk.length(path)
        if found < length:
            raise CrawlDamaged(
                f"{name} has {found:,} bytes; commit {last.number} lists {length:,}. Nothing was changed; bring back "
                "the whole file"
            )


def cut_back(last: Committed, facts: Facts, archive: Archive) -> None:
    """Take away what the last commit does not list. The facts go first: they look at more before they change
    anything."""
    facts.cut(last.number, last.facts(), last.parquet)
    archive.cut(last.archive())


def keep_job(directory: Path, disk: Disk) -> None:
    """The job was written beside the crawl's files. It must outlive a power failure as the crawl will, and so must the
    directory."""
    for path in sorted(directory.iterdir()):
        if path.is_file():
            file = disk.open_append(path)
            try:
                file.fdatasync()
            finally:
                file.close()
    disk.fsync_directory(directory)
    with suppress(PermissionError):
        disk.fsync_directory(directory.resolve().parent)
