"""`verify` finds what is wrong and says where."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.archive.sample import AT_S, capture, every_kind, resource, revisit
from whimbrel.archive.api import Reference
from whimbrel.archive.cdxj import index_path
from whimbrel.archive.member import compressor
from whimbrel.archive.record import capture_records, warcinfo_record
from whimbrel.archive.verify import Problem, verify
from whimbrel.archive.warc import ArchiveConfig, WarcArchive

NAME = "archive/whimbrel-00001.warc.gz"


@pytest.fixture
def archive(tmp_path: Path) -> Iterator[WarcArchive]:
    archive = WarcArchive(tmp_path, ArchiveConfig())
    archive.append([capture(), capture(number=1, metadata=(("a", "b"),)), revisit(2, Reference("x:", 1.0))])
    archive.seal()
    archive.index(archive.lengths())
    yield archive
    archive.close()


def write(directory: Path, *records: tuple[bytes, ...]) -> dict[str, int]:
    (directory / "archive").mkdir(exist_ok=True)
    pack = compressor("isal", 1)
    data = b"".join(b"".join(pack(record)) for record in (warcinfo_record(NAME, 1.0, ()), *records))
    (directory / NAME).write_bytes(data)
    return {NAME: len(data)}


def whats(directory: Path, lengths: dict[str, int]) -> list[str]:
    return [problem.what for problem in verify(directory, lengths)]


def test_a_sound_archive_has_no_problems_and_tells_its_progress(tmp_path: Path, archive: WarcArchive) -> None:
    heard: list[tuple[str, int]] = []
    assert list(verify(tmp_path, archive.lengths(), progress=lambda name, at: heard.append((name, at)))) == []
    assert heard[-1] == (NAME, archive.lengths()[NAME])
    assert len(heard) == 8


def test_captures_of_every_kind_have_no_problems(tmp_path: Path) -> None:
    archive = WarcArchive(tmp_path, ArchiveConfig())
    archive.append(every_kind())
    archive.seal()
    archive.index(archive.lengths())
    archive.close()
    assert index_path(tmp_path / NAME).exists()
    assert list(verify(tmp_path, archive.lengths())) == []


def test_a_damaged_resource_is_found_by_its_digest(tmp_path: Path) -> None:
    (record,) = capture_records(resource(b"hello", digest=bytes(20)), NAME, 0)
    assert whats(tmp_path, write(tmp_path, record)) == ["payload digest is not sha1:" + "A" * 32]


def test_missing_short_and_surplus_files_are_told_apart(tmp_path: Path, archive: WarcArchive) -> None:
    length = archive.lengths()[NAME]
    assert next(verify(tmp_path, {"archive/x.warc.gz": 3})) == Problem(
        "archive/x.warc.gz", 0, "missing; it should be 3 bytes long"
    )
    assert Problem(NAME, length, f"{length} bytes long; it should be {length + 1}") in verify(
        tmp_path, {NAME: length + 1}
    )
    with (tmp_path / NAME).open("ab") as file:
        file.write(b"more")
    assert list(verify(tmp_path, {NAME: length})) == [
        Problem(NAME, length, f"{length + 4} bytes long; it should be {length}")
    ]
    assert list(verify(tmp_path, {NAME: length}, surplus=True)) == []


def test_a_segment_that_is_not_listed_is_a_problem_unless_the_crawl_runs(tmp_path: Path, archive: WarcArchive) -> None:
    archive.append([capture(number=3)])
    listed = {NAME: archive.lengths()[NAME]}
    assert [problem.file for problem in verify(tmp_path, listed)] == ["archive/whimbrel-00002.warc.gz"]
    assert list(verify(tmp_path, listed, surplus=True)) == []


def test_a_torn_record_is_named_by_its_offset(tmp_path: Path, archive: WarcArchive) -> None:
    place = archive.append([capture(number=3)])[0]
    name = place.file
    lengths = archive.lengths() | {name: place.offset + place.length - 1}
    problems = [problem for problem in verify(tmp_path, lengths, surplus=True) if problem.file == name]
    assert [(problem.offset, problem.what[:4]) for problem in problems] == [(place.offset, "torn")]


def test_a_wrong_payload_digest_is_found(tmp_path: Path) -> None:
    lengths = write(tmp_path, *capture_records(capture(b"hello", digest=bytes(20)), NAME, 0))
    assert whats(tmp_path, lengths) == ["payload digest is not sha1:" + "A" * 32]


def test_a_wrong_block_digest_is_found(tmp_path: Path) -> None:
    answer, request = capture_records(revisit(0, Reference("https://a.test/first", AT_S)), NAME, 0)
    header, head, end = answer
    lengths = write(tmp_path, (header, head.replace(b"200", b"201"), end), request)
    assert [what[:19] for what in whats(tmp_path, lengths)] == ["block digest is not"]


def test_a_request_without_its_response_is_found_and_a_response_may_have_none(tmp_path: Path) -> None:
    response, request = capture_records(capture(), NAME, 0)
    later, _ = capture_records(capture(number=1), NAME, 50)
    assert whats(tmp_path, write(tmp_path, response)) == []
    assert [what[:18] for what in whats(tmp_path, write(tmp_path, request))] == ["a request that doe"]
    assert len(whats(tmp_path, write(tmp_path, later, request))) == 1


def test_an_index_that_differs_is_found_and_a_missing_one_is_none(tmp_path: Path, archive: WarcArchive) -> None:
    index = index_path(tmp_path / NAME)
    index.write_bytes(index.read_bytes()[:-2])
    assert list(verify(tmp_path, archive.lengths())) == [
        Problem(NAME + ".cdxj", 0, "differs from what the segment says")
    ]
    index.unlink()
    assert list(verify(tmp_path, archive.lengths())) == []


def test_a_segment_without_warcinfo_is_found(tmp_path: Path) -> None:
    (tmp_path / "archive").mkdir()
    pack = compressor("zlib", 1)
    data = b"".join(b"".join(pack(record)) for record in capture_records(capture(), NAME, 0))
    (tmp_path / NAME).write_bytes(data)
    assert whats(tmp_path, {NAME: len(data)}) == ["begins with a response, not with a warcinfo"]
