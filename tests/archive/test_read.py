"""Damage is named, never read over."""

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.archive.sample import capture, noise_bytes
from whimbrel.archive.api import RecordPlace
from whimbrel.archive.read import Captures, SegmentDamaged, read_capture, read_records
from whimbrel.archive.warc import ArchiveConfig, WarcArchive


@pytest.fixture(params=[bytes(range(200)), noise_bytes(1, 2_500)], ids=["deflated", "stored"])
def place(tmp_path: Path, request: pytest.FixtureRequest) -> RecordPlace:
    archive = WarcArchive(tmp_path, ArchiveConfig())
    (place,) = archive.append([capture(request.param)])
    archive.close()
    return place


def ends(path: Path) -> set[int]:
    found = set()
    for record in read_records(path):
        record.finish()
        found.add(record.offset + record.length)
    return found


def test_a_torn_tail_is_an_error_at_every_byte_but_the_ends_of_records(tmp_path: Path, place: RecordPlace) -> None:
    path = tmp_path / place.file
    data, whole = path.read_bytes(), ends(path) | {0}
    for length in range(len(data)):
        path.write_bytes(data[:length])
        if length in whole:
            list(read_records(path))
            continue
        with pytest.raises(SegmentDamaged, match=rf"{path.name}: record at \d+: torn"):
            list(read_records(path))


def test_no_flipped_bit_of_a_response_goes_unseen(tmp_path: Path, place: RecordPlace) -> None:
    path = tmp_path / place.file
    data, before = path.read_bytes(), read_capture(tmp_path, place.file, place.offset, place.length)
    for at in range(place.offset, place.offset + place.length):
        path.write_bytes(data[:at] + bytes([data[at] ^ 4]) + data[at + 1 :])
        try:
            after = read_capture(tmp_path, place.file, place.offset, place.length)
        except SegmentDamaged:
            continue
        assert after == before  # a bit of the gzip header that means nothing: time, system


def test_a_place_that_is_wrong_is_an_error(tmp_path: Path, place: RecordPlace) -> None:
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
        (b"WARC/1.1\r\nContent-Length: " + b"9" * 5_000 + b"\r\n\r\nabcd\r\n\r\n", "Content-Length is '99999"),
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


LINES = [
    b"HTTP/1.1 200 OK",
    b"A: b",
    b" folded",
    b"\xa0",
    b"\x1f",
    b"",
    b" ",
    b"\t",
    b"\r",
    b"words",
    b"\xff\xfe",
    b"\x00",
]


@given(
    lines=st.lists(st.sampled_from(LINES), max_size=6),
    ends=st.lists(st.sampled_from([b"\r\n", b"\n"]), min_size=7, max_size=7),
    payload=st.sampled_from([b"", b"\r\n\r\n", b"\n", b"text\r\n\r\nmore"]),
    kind=st.sampled_from([b"Content-Type: application/http", b"content-type: application/http", b"Content-Type: x/y"]),
)
def test_the_quick_way_to_read_a_record_finds_what_the_careful_one_does(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes], ends: list[bytes], payload: bytes, kind: bytes
) -> None:
    block = b"".join(line + end for line, end in zip([*lines, b""], ends, strict=False)) + payload
    record = b"WARC/1.1\r\nWARC-Type: x\r\n%s\r\nContent-Length: %d\r\n\r\n%s\r\n\r\n" % (
        kind,
        len(block),
        block,
    )
    path = tmp_path_factory.mktemp("record") / "x.warc.gz"
    path.write_bytes(gzip.compress(record))
    (found,) = [(one.headers, one.http_head(), one.read()) for one in read_records(path)]
    stored = read_capture(path.parent, path.name, 0, path.stat().st_size)
    assert (stored.headers, stored.http_head, stored.payload) == found


def test_captures_of_several_segments_in_any_order(tmp_path: Path) -> None:
    archive = WarcArchive(tmp_path, ArchiveConfig(segment_bytes=4_000))
    places = archive.append([capture(noise_bytes(number, 3_000), number) for number in range(6)])
    archive.close()
    assert len({place.file for place in places}) > 2
    with Captures(tmp_path) as captures:
        for number in (0, 5, 1, 4, 2, 3, 3, 0):
            place = places[number]
            assert captures.read(place.file, place.offset, place.length).payload == noise_bytes(number, 3_000)
        with pytest.raises(FileNotFoundError):
            captures.read("archive/none.warc.gz", 0, 9)
        assert captures.read(place.file, place.offset, place.length).payload == noise_bytes(0, 3_000)
