"""The power fails after any operation of the archive: the last commit is still whole."""

from pathlib import Path

import pytest

from tests.archive.sample import capture, noise_bytes
from tests.fault.recording_disk import Keep, RecordingDisk, replay
from whimbrel.archive.read import read_records
from whimbrel.archive.verify import verify
from whimbrel.archive.warc import ArchiveConfig, WarcArchive

CONFIG = ArchiveConfig(segment_bytes=6_000)
GROUPS = 6


def crawl(directory: Path) -> RecordingDisk:
    """Six commits of two captures each, one of which fails and is cut back, with roll-over and indexes between."""
    disk = RecordingDisk(directory)
    archive = WarcArchive(directory, CONFIG, disk)
    for number in range(GROUPS):
        group = [capture(noise_bytes(2 * number + at, 1500), 2 * number + at) for at in range(2)]
        if number == 3:
            listed = archive.lengths()
            archive.append(group)
            archive.cut(listed)
        archive.append(group)
        archive.sync()
        disk.mark(archive.lengths())
        archive.index(archive.lengths())
    archive.close()
    return disk


@pytest.mark.parametrize("keep", Keep)
def test_whatever_was_committed_is_there_after_a_power_failure_at_any_moment(tmp_path: Path, keep: Keep) -> None:
    (tmp_path / "crawl").mkdir()
    disk = crawl(tmp_path / "crawl")
    assert len(disk.log) > 30
    for moment in range(len(disk.log) + 1):
        directory = tmp_path / f"after-{moment}"
        directory.mkdir()
        marks = replay(disk.log[:moment], directory, keep)
        committed = marks[-1] if marks else {}
        archive = WarcArchive(directory, CONFIG)
        archive.cut(committed)
        assert list(verify(directory, committed)) == [], moment
        archive.append([capture(number=99)])
        archive.sync()
        archive.seal()
        archive.index(archive.lengths())
        assert list(verify(directory, archive.lengths())) == [], moment
        archive.close()
        responses = sum(
            record.kind == "response" for name in archive.lengths() for record in read_records(directory / name)
        )
        assert responses == 2 * len(marks) + 1, moment


def test_what_was_not_synced_is_really_lost_in_the_replay(tmp_path: Path) -> None:
    for name in ("crawl", "lost", "kept"):
        (tmp_path / name).mkdir()
    disk = RecordingDisk(tmp_path / "crawl")
    archive = WarcArchive(tmp_path / "crawl", CONFIG, disk)
    archive.append([capture()])
    replay(disk.log, tmp_path / "lost", Keep.SYNCED)
    replay(disk.log, tmp_path / "kept", Keep.ALL)
    archive.close()
    assert list((tmp_path / "lost").iterdir()) == []
    name = "archive/whimbrel-00001.warc.gz"
    assert (tmp_path / "kept" / name).read_bytes() == (tmp_path / "crawl" / name).read_bytes()
