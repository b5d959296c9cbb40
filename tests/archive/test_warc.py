"""Segments: how they roll over, are cut back, survive a full disk, and go on after a restart."""

import errno
import os
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.archive.sample import LostBody, capture, noise_bytes
from whimbrel.archive.api import Archive, ArchiveDamaged, Capture, RecordPlace
from whimbrel.archive.cdxj import index_path
from whimbrel.archive.read import read_capture, read_records
from whimbrel.archive.verify import verify
from whimbrel.archive.warc import ArchiveConfig, WarcArchive
from whimbrel.durable_file import Disk, DiskFile

FIRST, SECOND = "archive/whimbrel-00001.warc.gz", "archive/whimbrel-00002.warc.gz"


@pytest.fixture
def archive(tmp_path: Path) -> Iterator[WarcArchive]:
    archive = WarcArchive(tmp_path, ArchiveConfig())
    yield archive
    archive.close()


def noise(number: int, size: int = 3000) -> Capture:
    """Does not compress, so that sizes are known roughly."""
    return capture(noise_bytes(number, size), number)


def urls(directory: Path, archive: Archive) -> list[str]:
    return [
        record.get("WARC-Target-URI")
        for name, length in archive.lengths().items()
        for record in read_records(directory / name, 0, length)
        if record.kind == "response"
    ]


def test_places_lead_back_to_their_captures(tmp_path: Path, archive: WarcArchive) -> None:
    captures = [capture(b"body %d" % number, number) for number in range(50)]
    places = archive.append(captures[:20]) + archive.append(captures[20:])
    stored = [read_capture(tmp_path, place.file, place.offset, place.length).payload for place in places]
    assert stored == [b"body %d" % number for number in range(50)]
    assert archive.lengths() == {FIRST: (tmp_path / FIRST).stat().st_size}


def test_a_full_segment_is_followed_by_the_next_number(tmp_path: Path) -> None:
    archive = WarcArchive(tmp_path, ArchiveConfig(segment_bytes=10_000, prefix="x"))
    places = archive.append([noise(number) for number in range(12)])
    archive.sync()
    assert list(archive.lengths()) == [f"archive/x-0000{number}.warc.gz" for number in (1, 2, 3, 4)]
    assert {place.file for place in places} == set(archive.lengths())
    assert all((tmp_path / name).stat().st_size == length for name, length in archive.lengths().items())
    assert list(verify(tmp_path, archive.lengths())) == []
    archive.close()


def test_each_segment_opens_with_a_warcinfo_that_says_who_wrote_it(tmp_path: Path) -> None:
    info = (("software", "whimbrel/9"), ("robots", "rfc9309"), ("operator", "me@a.test"))
    archive = WarcArchive(tmp_path, ArchiveConfig(segment_bytes=1, info=info))
    archive.append([capture(number=0), capture(number=1)])
    archive.close()
    for name in (FIRST, SECOND):
        first = next(read_records(tmp_path / name))
        assert (first.kind, first.get("WARC-Filename")) == ("warcinfo", Path(name).name)
        text = first.read()
        assert text.startswith(b"software: whimbrel/9\r\nformat: WARC File Format 1.1\r\n")
        assert b"robots: rfc9309\r\noperator: me@a.test\r\n" in text


def test_a_cut_goes_back_to_exactly_what_was_listed(tmp_path: Path) -> None:
    archive = WarcArchive(tmp_path, ArchiveConfig(segment_bytes=10_000))
    archive.append([noise(number) for number in range(2)])
    archive.sync()
    before, listed = (tmp_path / FIRST).read_bytes(), archive.lengths()
    archive.append([noise(number) for number in range(2, 12)])
    archive.cut(listed)
    assert archive.lengths() == listed
    assert os.listdir(tmp_path / "archive") == [Path(FIRST).name]  # noqa: PTH208
    assert (tmp_path / FIRST).read_bytes() == before
    archive.append([noise(number) for number in range(2, 12)])
    assert urls(tmp_path, archive) == [f"https://a.test/page/{number}" for number in range(12)]
    archive.close()


def test_after_a_cut_the_same_captures_make_the_same_files(tmp_path: Path) -> None:
    archive = WarcArchive(tmp_path, ArchiveConfig(segment_bytes=10_000))
    archive.append([noise(0)])
    listed, captures = archive.lengths(), [noise(number) for number in range(1, 9)]
    places = archive.append(captures)
    files = {name: (tmp_path / name).read_bytes() for name in archive.lengths()}
    archive.cut(listed)
    assert archive.append(captures) == places
    assert {name: (tmp_path / name).read_bytes() for name in archive.lengths()} == files
    archive.close()


def test_a_restart_goes_on_in_the_open_segment_and_behind_a_sealed_one(tmp_path: Path) -> None:
    listed: dict[str, int] = {}
    for number in range(4):
        archive = WarcArchive(tmp_path, ArchiveConfig())
        archive.cut(listed)
        archive.append([capture(number=number)])
        if number == 1:
            archive.seal()
            archive.index(archive.lengths())
        archive.sync()
        listed = archive.lengths()
        archive.close()
    assert list(listed) == [FIRST, SECOND]
    assert urls(tmp_path, archive) == [f"https://a.test/page/{number}" for number in range(4)]
    assert list(verify(tmp_path, listed)) == []


def test_a_cut_does_not_open_what_was_sealed(tmp_path: Path, archive: WarcArchive) -> None:
    archive.append([capture()])
    archive.seal()
    listed = archive.lengths()
    archive.append([capture(number=1)])
    archive.cut(listed)
    archive.index(listed)
    assert index_path(tmp_path / FIRST).exists()
    assert archive.append([capture(number=1)])[0].file == SECOND


def test_only_sealed_segments_are_indexed(tmp_path: Path) -> None:
    archive = WarcArchive(tmp_path, ArchiveConfig(segment_bytes=10_000))
    archive.append([noise(number) for number in range(6)])
    archive.index(archive.lengths())
    assert [index_path(tmp_path / name).exists() for name in archive.lengths()] == [True, False]
    archive.seal()
    archive.index(archive.lengths())
    assert [index_path(tmp_path / name).exists() for name in archive.lengths()] == [True, True]
    archive.close()


def test_a_cut_removes_indexes_that_are_not_true_any_more_and_nothing_foreign(tmp_path: Path) -> None:
    archive = WarcArchive(tmp_path, ArchiveConfig(segment_bytes=10_000))
    archive.append([noise(0)])
    listed = archive.lengths()
    archive.append([noise(number) for number in range(1, 9)])
    archive.seal()
    archive.index(archive.lengths())
    for name in ("notes.txt", "whimbrel-00001.warc.gz.cdxj.tmp"):
        (tmp_path / "archive" / name).touch()
    archive.cut(listed)
    assert sorted(path.name for path in (tmp_path / "archive").iterdir()) == ["notes.txt", Path(FIRST).name]
    archive.close()


def test_a_missing_or_short_segment_is_named_with_both_lengths(tmp_path: Path, archive: WarcArchive) -> None:
    archive.append([capture()])
    archive.close()
    length = (tmp_path / FIRST).stat().st_size
    with pytest.raises(ArchiveDamaged, match=rf"00001.* is {length} bytes long; it should be {length + 1}"):
        archive.cut({FIRST: length + 1})
    with pytest.raises(ArchiveDamaged, match=r"00002.* is missing; it should be 5 bytes long"):
        archive.cut({FIRST: length, SECOND: 5})
    assert (tmp_path / FIRST).stat().st_size == length


def test_a_body_that_cannot_be_read_is_an_os_error_and_a_cut_repairs_it(tmp_path: Path, archive: WarcArchive) -> None:
    archive.append([capture()])
    listed = archive.lengths()
    with pytest.raises(OSError, match="spill file lost"):
        archive.append([capture(number=1), capture(number=2, payload=LostBody(b""))])
    archive.cut(listed)
    archive.append([capture(number=3)])
    assert urls(tmp_path, archive) == ["https://a.test/page/0", "https://a.test/page/3"]


class SmallDisk(Disk):
    """Real files on a disk with room for so many bytes more; a write that does not fit is cut short, then refused."""

    def __init__(self, room: int) -> None:
        self.room = room

    def open_append(self, path: Path) -> DiskFile:
        return SmallFile(path, 0).on(self)

    def create_exclusive(self, path: Path) -> DiskFile:
        return SmallFile(path, os.O_CREAT | os.O_EXCL).on(self)


class SmallFile(DiskFile):
    def on(self, disk: SmallDisk) -> "SmallFile":
        self._disk = disk
        return self

    def _pwritev(self, parts: Sequence[memoryview], offset: int) -> int:
        data = b"".join(parts)[: self._disk.room]
        if not data:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self.path))
        self._disk.room -= len(data)
        return super()._pwritev([memoryview(data)], offset)

    def truncate(self, length: int) -> None:
        self._disk.room += self.tell() - length
        super().truncate(length)


@given(room=st.integers(0, 40_000))
@settings(max_examples=60, deadline=None)
def test_a_full_disk_at_any_byte_loses_nothing_that_was_kept(
    tmp_path_factory: pytest.TempPathFactory, room: int
) -> None:
    directory = tmp_path_factory.mktemp("crawl")
    disk = SmallDisk(room)
    archive = WarcArchive(directory, ArchiveConfig(segment_bytes=10_000), disk)
    listed: dict[str, int] = {}
    for number in range(0, 12, 3):
        group = [noise(number + at) for at in range(3)]
        try:
            archive.append(group)
        except OSError:
            archive.cut(listed)
            disk.room = 1_000_000
            archive.append(group)
        archive.sync()
        listed = archive.lengths()
    assert urls(directory, archive) == [f"https://a.test/page/{number}" for number in range(12)]
    assert list(verify(directory, listed)) == []
    archive.close()


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "tiny"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)]
    try:
        done = subprocess.run(mount, capture_output=True, check=False).returncode
    except FileNotFoundError:
        done = 1
    if done:
        pytest.skip("not permitted to mount a tmpfs")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_really_full_disk_is_an_os_error_and_what_was_kept_stays(tiny_disk: Path) -> None:
    archive = WarcArchive(tiny_disk, ArchiveConfig())
    places: list[RecordPlace] = []
    number, listed = 0, {}
    with pytest.raises(OSError) as raised:  # noqa: PT011, PT012
        while True:
            places += archive.append([noise(number, 50_000)])
            archive.sync()
            listed = archive.lengths()
            number += 1
    assert raised.value.errno == errno.ENOSPC
    archive.cut(listed)
    archive.append([capture(number=number)])
    archive.sync()
    assert number > 10
    assert urls(tiny_disk, archive) == [f"https://a.test/page/{n}" for n in range(number + 1)]
    assert list(verify(tiny_disk, archive.lengths())) == []
    archive.close()
