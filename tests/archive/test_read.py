"""Damage is named, never read over."""

import gzip
from pathlib import Path

import pytest

from tests.archive.sample import capture
from whimbrel.archive.api import Place
from whimbrel.archive.read import SegmentDamaged, read_capture, read_records
from whimbrel.archive.warc import ArchiveConfig, WarcArchive


@pytest.fixture
def place(tmp_path: Path) -> Place:
    archive = WarcArchive(tmp_path, ArchiveConfig())
    (place,) = archive.append([capture(bytes(range(200)))])
    archive.close()
    return place


def ends(path: Path) -> set[int]:
    found = set()
    for record in read_records(path):
        record.finish()
        found.add(record.offset + record.length)
    return found


def test_a_torn_tail_is_an_error_at_every_byte_but_the_ends_of_records(tmp_path: Path, place: Place) -> None:
    path = tmp_path / place.file
    data, whole = path.read_bytes(), ends(path) | {0}
    for length in range(len(data)):
        path.write_bytes(data[:length])
        if length in whole:
            list(read_records(path))
            continue
        with pytest.raises(SegmentDamaged, match=rf"{path.name}: record at \d+: torn"):
            list(read_records(path))


def test_no_flipped_bit_of_a_response_goes_unseen(tmp_path: Path, place: Place) -> None:
    path = tmp_path / place.file
    data, before = path.read_bytes(), read_capture(tmp_path, place.file, place.offset, place.length)
    for at in range(place.offset, place.offset + place.length):
        path.write_bytes(data[:at] + bytes([data[at] ^ 4]) + data[at + 1 :])
        try:
            after = read_capture(tmp_path, place.file, place.offset, place.length)
        except SegmentDamaged:
            continue
        assert after == before  # a bit of the gzip header that means nothing: time, system


def test_a_place_that_is_wrong_is_an_error(tmp_path: Path, place: Place) -> None:
    for offset, length in (
        (place.offset + 1, place.length),
        (place.offset, place.length - 1),
        (place.offset, place.length + 9),
        (place.offset, 0),
    ):
        with pytest.raises(SegmentDamaged):
            read_capture(tmp_path, place.file, offset, length)


@pytest.mark.parametrize(
    ("record", "what"),
    [
        (b"WARC/1.1\r\nContent-Length: 3\r\n\r\nabcd\r\n\r\n", "does not end where the member does"),
        (b"WARC/1.1\r\nContent-Length: 9\r\n\r\nabcd\r\n\r\n", "1 bytes of its 9 are missing"),
        (b"WARC/1.1\r\nContent-Length: x\r\n\r\nabcd\r\n\r\n", "Content-Length is 'x'"),
        (b"WARC/1.1\r\nContent-Length\r\n\r\nabcd\r\n\r\n", "without a colon"),
        (b"ARC\r\n\r\n", "begins with 'ARC'"),
        (b"", "no WARC header"),
        (b"WARC/1.1\r\nContent-Length: 0\r\n\r\n\r\n\r\nWARC/1.1\r\n", "does not end where the member does"),
    ],
)
def test_a_record_that_is_not_one_is_named(tmp_path: Path, record: bytes, what: str) -> None:
    path = tmp_path / "x.warc.gz"
    path.write_bytes(gzip.compress(record))
    with pytest.raises(SegmentDamaged, match=what):
        list(read_records(path))
