"""The seam below archive, facts and committer does what it says."""

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from whimbrel.durable_file import Disk, DiskFile


class Hesitant(DiskFile):
    """A file system that takes seven bytes at a time, as a nearly full one or a signal can make it."""

    def _pwritev(self, parts: Sequence[memoryview], offset: int) -> int:
        return os.pwrite(self._fd, b"".join(parts)[:7], offset)


def test_more_parts_than_one_call_takes_are_written_in_order(tmp_path: Path) -> None:
    parts = [b"%d," % number for number in range(5000)]
    file = Disk().create_exclusive(tmp_path / "a")
    file.writev([*parts[:10], b"", *parts[10:]])
    assert (tmp_path / "a").read_bytes() == b"".join(parts)
    assert file.tell() == len(b"".join(parts))
    file.close()


def test_short_writes_are_continued(tmp_path: Path) -> None:
    file = Hesitant(tmp_path / "a", os.O_CREAT)
    file.writev([b"one", bytearray(b" two"), memoryview(b" three four"), b" five"])
    assert (tmp_path / "a").read_bytes() == b"one two three four five"
    file.close()


def test_a_file_goes_on_at_its_end_also_after_a_cut(tmp_path: Path) -> None:
    disk = Disk()
    (tmp_path / "a").write_bytes(b"0123456789")
    file = disk.open_append(tmp_path / "a")
    assert file.tell() == disk.length(tmp_path / "a") == 10
    file.truncate(4)
    assert file.write(b"abc") == 3
    file.fdatasync()
    file.close()
    file.close()
    assert file.closed
    assert (tmp_path / "a").read_bytes() == b"0123abc"


def test_creating_needs_a_new_name_and_opening_an_old_one(tmp_path: Path) -> None:
    disk = Disk()
    (tmp_path / "old").touch()
    with pytest.raises(FileExistsError):
        disk.create_exclusive(tmp_path / "old")
    with pytest.raises(FileNotFoundError):
        disk.open_append(tmp_path / "new")
    disk.replace(tmp_path / "old", tmp_path / "new")
    disk.make_directory(tmp_path / "folder")
    disk.make_directory(tmp_path / "folder")
    disk.fsync_directory(tmp_path)
    assert disk.listdir(tmp_path) == ["folder", "new"]
    disk.unlink(tmp_path / "new")
    assert disk.listdir(tmp_path) == ["folder"]
