"""One suite for every implementation of the archive, on real files.

How captures are written as WARC is the business of `tests/archive`; here is what the committer relies on.
"""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.archive.sample import LostBody, capture, every_kind, noise_bytes
from tests.archive.test_warc import SmallDisk
from whimbrel.archive.api import Archive, ArchiveDamaged, Capture, RecordPlace, RevisitCapture
from whimbrel.archive.read import read_capture
from whimbrel.archive.verify import verify
from whimbrel.archive.warc import ArchiveConfig, WarcArchive
from whimbrel.durable_file import Disk

SEGMENT_BYTES = 10_000
Make = Callable[[Path, Disk], Archive]


def _warc(library: str, level: int) -> Make:
    config = ArchiveConfig(segment_bytes=SEGMENT_BYTES, library=library, level=level)
    return lambda directory, disk: WarcArchive(directory, config, disk)


IMPLEMENTATIONS: dict[str, Make] = {"warc-isal": _warc("isal", 1), "warc-zlib": _warc("zlib", 6)}


@pytest.fixture(params=IMPLEMENTATIONS)
def make(request: pytest.FixtureRequest) -> Make:
    return IMPLEMENTATIONS[request.param]


def begun(make: Make, directory: Path, lengths: dict[str, int] | None = None) -> Archive:
    archive = make(directory, Disk())
    archive.cut(lengths or {})
    return archive


def noise(*numbers: int) -> list[Capture]:
    """Three of them fill a segment."""
    return [capture(noise_bytes(number, 3_500), number) for number in numbers]


def contents(directory: Path) -> dict[str, bytes]:
    return {path.relative_to(directory).as_posix(): path.read_bytes() for path in directory.rglob("*.warc.gz")}


def payload(directory: Path, place: RecordPlace) -> bytes:
    return read_capture(directory, place.file, place.offset, place.length).payload


def test_each_capture_is_found_at_its_place_whatever_its_kind(make: Make, tmp_path: Path) -> None:
    archive, captures = begun(make, tmp_path), every_kind()
    places = archive.append(captures[:4]) + archive.append([]) + archive.append(captures[4:])
    assert [payload(tmp_path, place) for place in places] == [
        b"" if isinstance(one, RevisitCapture) else one.payload.read() for one in captures
    ]
    archive.close()


def test_lengths_are_those_of_the_files_and_all_but_the_last_are_sealed(make: Make, tmp_path: Path) -> None:
    archive = begun(make, tmp_path)
    assert (archive.lengths(), archive.sealed()) == ({}, [])
    places = archive.append(noise(*range(8)))
    archive.sync()
    assert archive.lengths() == {name: (tmp_path / name).stat().st_size for name in archive.lengths()}
    assert list(archive.lengths()) == list(dict.fromkeys(place.file for place in places))
    assert len(archive.lengths()) > 2
    assert archive.sealed() == list(archive.lengths())[:-1]
    archive.close()


def test_a_sealed_segment_gets_no_more_records(make: Make, tmp_path: Path) -> None:
    archive = begun(make, tmp_path)
    archive.seal()
    assert archive.lengths() == {}, "there was none to seal"
    archive.append([capture()])
    archive.seal()
    archive.seal()
    before = archive.lengths()
    assert archive.sealed() == list(before)
    archive.append([capture(number=1)])
    assert {name: archive.lengths()[name] for name in before} == before
    assert len(archive.lengths()) == 2
    archive.close()


def test_a_cut_goes_back_to_what_was_listed_and_the_same_captures_make_the_same_bytes(
    make: Make, tmp_path: Path
) -> None:
    archive = begun(make, tmp_path)
    archive.append(noise(0, 1))
    archive.sync()
    listed, before = archive.lengths(), contents(tmp_path)
    archive.append(noise(*range(2, 9)))
    longer = contents(tmp_path)
    archive.cut(listed)
    assert (archive.lengths(), contents(tmp_path)) == (listed, before)
    archive.append(noise(*range(2, 9)))
    assert contents(tmp_path) == longer
    archive.close()


def test_another_process_cuts_and_goes_on(make: Make, tmp_path: Path) -> None:
    archive = begun(make, tmp_path)
    archive.append(noise(*range(5)))
    archive.sync()
    listed = archive.lengths()
    archive.append(noise(*range(5, 9)))
    archive.close()
    again = begun(make, tmp_path, listed)
    assert again.lengths() == listed
    places = again.append(noise(9))
    again.sync()
    assert payload(tmp_path, places[0]) == noise_bytes(9, 3_500)
    assert list(verify(tmp_path, again.lengths())) == []
    again.close()


def test_a_cut_to_nothing_leaves_no_segment_and_what_is_not_ours(make: Make, tmp_path: Path) -> None:
    archive = begun(make, tmp_path)
    archive.append(noise(0))
    folder = (tmp_path / next(iter(archive.lengths()))).parent
    (folder / "notes.txt").touch()
    archive.cut({})
    assert (archive.lengths(), [path.name for path in folder.iterdir()]) == ({}, ["notes.txt"])
    archive.close()


@pytest.mark.parametrize("damage", ["short", "missing"])
def test_a_listed_segment_that_is_short_or_missing_is_refused_and_nothing_is_changed(
    make: Make, tmp_path: Path, damage: str
) -> None:
    archive = begun(make, tmp_path)
    archive.append(noise(*range(5)))
    listed = archive.lengths()
    archive.append(noise(*range(5, 9)))
    archive.close()
    first = next(iter(listed))
    if damage == "short":
        listed[first] += 1
    else:
        (tmp_path / first).unlink()
    before = contents(tmp_path)
    with pytest.raises(ArchiveDamaged, match=Path(first).name):
        begun(make, tmp_path, listed)
    assert contents(tmp_path) == before


def test_a_payload_that_cannot_be_read_is_an_os_error_and_a_cut_repairs_it(make: Make, tmp_path: Path) -> None:
    archive = begun(make, tmp_path)
    archive.append(noise(0))
    archive.sync()
    listed = archive.lengths()
    with pytest.raises(OSError, match="spill file lost"):
        archive.append([*noise(*range(1, 6)), capture(number=6, payload=LostBody(b""))])
    archive.cut(listed)
    archive.append(noise(1))
    archive.sync()
    assert list(verify(tmp_path, archive.lengths())) == []
    archive.close()


@pytest.mark.parametrize("make_archive", IMPLEMENTATIONS.values(), ids=IMPLEMENTATIONS)
@given(room=st.integers(0, 30_000))
@settings(max_examples=25, deadline=None)
def test_a_disk_that_is_full_at_any_byte_is_an_os_error_and_a_second_try_is_whole(
    make_archive: Make, tmp_path_factory: pytest.TempPathFactory, room: int
) -> None:
    directory, disk = tmp_path_factory.mktemp("crawl"), SmallDisk(room)
    archive = make_archive(directory, disk)
    archive.cut({})
    listed: dict[str, int] = {}
    places: list[RecordPlace] = []
    for group in ([0, 1, 2], [3, 4, 5], [6, 7]):
        try:
            found = archive.append(noise(*group))
        except OSError:
            archive.cut(listed)
            disk.room = 1_000_000
            found = archive.append(noise(*group))
        archive.sync()
        places += found
        listed = archive.lengths()
    assert [payload(directory, place) for place in places] == [noise_bytes(number, 3_500) for number in range(8)]
    assert list(verify(directory, listed)) == []
    archive.close()


def test_sealed_segments_get_an_index_once_and_again_when_it_is_lost(make: Make, tmp_path: Path) -> None:
    archive = begun(make, tmp_path)
    archive.append(noise(*range(5)))
    archive.sync()
    archive.index(archive.lengths())
    indexes = sorted(tmp_path.rglob("*.cdxj"))
    assert len(indexes) == len(archive.sealed())
    before = [path.read_bytes() for path in indexes]
    indexes[0].unlink()
    archive.index(archive.lengths())
    archive.index(archive.lengths())
    assert [path.read_bytes() for path in sorted(tmp_path.rglob("*.cdxj"))] == before
    assert list(verify(tmp_path, archive.lengths())) == []
    archive.close()


def test_close_may_be_called_again_and_a_cut_opens_once_more(make: Make, tmp_path: Path) -> None:
    archive = begun(make, tmp_path)
    archive.close()
    archive.append(noise(0))
    archive.sync()
    listed = archive.lengths()
    archive.close()
    archive.close()
    assert archive.lengths() == listed
    archive.cut(listed)
    archive.append(noise(1))
    assert archive.lengths().keys() == listed.keys()
    archive.close()
