"""The job that a crawl directory keeps: what was given, and where each value came from."""

import re
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from whimbrel.durable_file import Disk
from whimbrel.job.options import JOB_FILE, ResolvedOptions, combined, job_text, read_job

OWN_WIRING: Final = "wiring.toml"
"""A wiring that was changed while the crawl ran."""
PRIVATE: Final = (JOB_FILE, OWN_WIRING)
"""Files that may hold secrets."""
_SECTION: Final = re.compile(r"\[set\.(.+)\]")
_LINE: Final = re.compile(r"(\S+) = .*  # origin: (.*)")


def stored_job(directory: Path) -> ResolvedOptions:
    """The job of a crawl, with the origins of its values as far as they were kept."""
    path = directory / JOB_FILE
    given = combined([(JOB_FILE, read_job(path))])
    origins = dict(given.origins)
    section = ""
    for line in path.read_text(encoding="utf-8").splitlines():
        opened, kept = _SECTION.fullmatch(line), _LINE.fullmatch(line)
        if opened is not None:
            section = f"set.{opened[1]}."
        elif kept is not None and section + kept[1] in origins:
            origins[section + kept[1]] = kept[2]
    return msgspec.structs.replace(given, origins=origins)


def keep_job(directory: Path, given: ResolvedOptions) -> None:
    """Write the job down, in place of the one before: whole or not at all, whatever happens meanwhile."""
    write_whole(directory / JOB_FILE, job_text(given).encode())


def protect(directory: Path) -> None:
    """What earlier versions let others read of a job is for its owner alone from now on."""
    for name in PRIVATE:
        path = directory / name
        # Somebody else's file, or a disk without owners: it stays as it is.
        with suppress(FileNotFoundError, PermissionError):
            if path.stat().st_mode & 0o077:
                path.chmod(0o600)


def write_whole(path: Path, data: bytes) -> None:
    """A file that is there for good, or as it was before; for its owner alone, as a job may hold passwords."""
    disk, half = Disk(), path.with_name(f"{path.name}.tmp")
    with suppress(FileNotFoundError):
        half.unlink()  # What a crash has left.
    file = disk.create_private(half)
    try:
        file.write(data)
        file.fdatasync()
    finally:
        file.close()
    disk.replace(half, path)
    disk.fsync_directory(path.parent)
