"""Our index is the one that cdxj-indexer would write."""

import tempfile
import tracemalloc
from importlib import import_module
from io import StringIO
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.archive.sample import capture, every_kind, resource, revisit, run
from tests.archive.test_record import _BODIES, _HEADS
from whimbrel.archive import cdxj
from whimbrel.archive.api import Capture, Reference
from whimbrel.archive.cdxj import index_lines, index_path
from whimbrel.archive.warc import ArchiveConfig, WarcArchive

HTML = b"HTTP/1.1 200 OK\r\n"


def varied() -> list[Capture]:
    heads = [
        HTML + b"Content-Type: text/html\r\n",
        HTML + b"Content-Type:\r\n",
        HTML + b"content-type :  Text/HTML ;charset=x\r\nContent-Type: second/one\r\n",
        HTML + b"Content-Type: text/\r\n plain; folded\r\n",
        HTML + b"Content-Type: t\xe9xt/html\r\n",
        HTML + "Content-Type: tëxt/html\r\n".encode(),
        b"HTTP/1.1\r\nA: b\r\n",
        b"HTTP/1.1 200\r\n",
        b"HTTP/2 404 \r\ncontent-type: application/json\r\n",
        b"",
    ]
    captures: list[Capture] = [capture(b"x", number, response_head=head) for number, head in enumerate(heads)]
    for number, url in enumerate(
        ["http://www.a.test/B?z=1&a=2", "https://a.test:8443/%7Euser/", "http://192.0.2.1/", "http://a.test/a//b/?"]
    ):
        captures += [capture(b"body", 20 + number, url=url), capture(b"body", 20 + number, url=url)]
    captures.append(revisit(30, Reference("http://a.test/", 5.5), body=b"body"))
    captures.append(revisit(31, None, "server-not-modified"))
    captures.append(capture(b"cut", 32, truncated="length", metadata=(("a", "b"),)))
    for number, url in enumerate(["ftp://A.test/B?b&a", "urn:pageinfo:http://a.test/X", "screenshot:http://a.test/"]):
        captures.append(resource(b"{}", 50 + number, url=url, content_type="application/json"))
    return captures + [one for one in every_kind() if one.url]


def keep(directory: Path, captures: list[Capture], **config: Any) -> list[Path]:
    archive = WarcArchive(directory, ArchiveConfig(**config))
    archive.append(captures)
    archive.seal()
    archive.sync()
    archive.index(archive.lengths())
    archive.close()
    return [directory / name for name in archive.lengths()]


@pytest.mark.parametrize("segment_bytes", [1, 5_000, 1_000_000])
def test_the_index_of_a_sealed_segment_is_that_of_cdxj_indexer(tmp_path: Path, segment_bytes: int) -> None:
    segments = keep(tmp_path, varied(), segment_bytes=segment_bytes)
    for segment in segments[:3]:
        assert index_path(segment).read_text() == run("cdxj-indexer", "--sort", segment)


@settings(deadline=None)  # a sync may take long on a busy disk
@given(head=_HEADS, body=_BODIES, original=st.sampled_from([None, Reference("https://a.test/", 7.0)]))
def test_hostile_heads_are_indexed_as_cdxj_indexer_does(
    tmp_path_factory: pytest.TempPathFactory, head: bytes, body: bytes, original: Reference | None
) -> None:
    directory = tmp_path_factory.mktemp("crawl")
    answer: Capture = capture(body, response_head=head)
    if original is not None:
        answer = revisit(0, original, body=body, response_head=head)
    (segment,) = keep(directory, [answer])
    out = StringIO()
    indexer = import_module("cdxj_indexer.main").CDXJIndexer(out, [str(segment)], sort=True)
    with segment.open("rb") as file:
        indexer.process_one(file, out, str(segment))
    assert index_path(segment).read_text() == out.getvalue()


@given(numbers=st.lists(st.integers(0, 60), max_size=80))
def test_noted_lines_come_back_sorted_and_once(numbers: list[int]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cdxj, "_RUN_BYTES", 1_000)
        patch.setattr(cdxj, "_BLOCK_BYTES", 50)
        patch.setattr(cdxj, "_KEPT_BYTES", 150)
        noted = cdxj.Noted(Path(tempfile.gettempdir()))
        for number in numbers:
            noted.add(b"com,example)/%d 2026\n" % number)
        assert list(noted.lines()) == sorted({b"com,example)/%d 2026\n" % number for number in numbers})


def test_an_index_is_written_once_and_again_when_it_is_lost(tmp_path: Path) -> None:
    (segment,) = keep(tmp_path, varied())
    text = index_path(segment).read_bytes()
    assert text == b"".join(index_lines(segment, segment.stat().st_size))
    index_path(segment).unlink()
    index_path(segment).with_name(segment.name + ".cdxj.tmp").write_bytes(b"half")
    archive = WarcArchive(tmp_path, ArchiveConfig())
    archive.cut({f"archive/{segment.name}": segment.stat().st_size})
    archive.seal()
    archive.index(archive.lengths())
    assert index_path(segment).read_bytes() == text
    assert sorted(path.name for path in segment.parent.iterdir()) == [segment.name, index_path(segment).name]


def test_long_lines_do_not_stay_in_memory(tmp_path: Path) -> None:
    tracemalloc.start()
    try:
        noted = cdxj.Noted(tmp_path)
        for number in range(12_000):
            noted.add(b"com,example)/%d-%s 2026\n" % (number, Random(number).randbytes(2_000).hex().encode()))  # noqa: S311
        assert tracemalloc.get_traced_memory()[0] < 20_000_000
        assert sum(1 for _ in noted.lines()) == 12_000
        assert tracemalloc.get_traced_memory()[1] < 36_000_000, "also while they are merged"
    finally:
        tracemalloc.stop()
    assert not list(tmp_path.iterdir())


def test_a_type_that_is_longer_than_types_are_is_cut_in_the_index(tmp_path: Path) -> None:
    long = b"HTTP/1.1 200 OK\r\nContent-Type: " + b"a" * 50_000 + b"/x\r\n"
    (segment,) = keep(tmp_path, [capture(b"x", 1, response_head=long)])
    text = index_path(segment).read_bytes()
    assert len(text) < 1_000
    assert text == b"".join(index_lines(segment, segment.stat().st_size))
