"""Bodies in memory and in spill files."""

import gc
import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whimbrel.fetch.body import Collector, MemoryDocument, SpilledDocument
from whimbrel.fetch.spill_space import SpillSpace

SIZES = st.lists(st.integers(1, 40), max_size=12)


@given(SIZES, st.integers(0, 200), st.integers(0, 200))
@settings(max_examples=200)
def test_a_body_is_kept_up_to_its_limit_wherever_it_is(sizes: list[int], max_bytes: int, spill_bytes: int) -> None:
    collector = Collector(max_bytes, spill_bytes, "", SpillSpace(tempfile.gettempdir(), 0))
    for _ in range(2):
        whole, stopped = b"", False
        for number, size in enumerate(sizes):
            piece = bytes([number]) * size
            whole += piece
            stopped = collector.write(piece) == 0
            if stopped:
                break
        assert collector.truncated is stopped is (len(whole) > max_bytes)
        document = collector.finish()
        assert document.read() == document.read() == whole[:max_bytes]
        assert document.size == min(len(whole), max_bytes)
        assert isinstance(document, SpilledDocument) is (document.size > spill_bytes)
        document.close()


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - names only


def test_a_spill_file_has_no_name_and_goes_with_its_document(tmp_path: Path) -> None:
    before = open_files()
    collector = Collector(1_000_000, 100, str(tmp_path), SpillSpace(str(tmp_path), 0))
    collector.write(b"x" * 1000)
    document = collector.finish()
    assert list(tmp_path.iterdir()) == []
    assert open_files() == before + 1
    document.close()
    document.close()
    assert open_files() == before
    with pytest.raises(ValueError, match="closed"):
        document.read()
    collector.write(b"y" * 1000)
    lost = collector.finish()
    assert lost.read() == b"y" * 1000
    del lost
    gc.collect()
    assert open_files() == before


def test_a_body_that_is_not_wanted_leaves_no_file(tmp_path: Path) -> None:
    before = open_files()
    collector = Collector(1_000_000, 100, str(tmp_path), SpillSpace(str(tmp_path), 0))
    collector.write(b"x" * 1000)
    collector.clear()
    assert open_files() == before
    assert collector.finish().size == 0


def test_a_disk_that_takes_nothing_ends_the_body(tmp_path: Path) -> None:
    collector = Collector(1_000_000, 100, str(tmp_path / "is not there"), SpillSpace(str(tmp_path), 0))
    assert collector.write(b"x" * 1000) == 0
    assert not collector.truncated


def test_a_small_document_is_not_copied_and_cannot_be_read_when_closed() -> None:
    collector = Collector(1_000_000, 65_536, "", SpillSpace(tempfile.gettempdir(), 0))
    data = b"x" * 1000
    collector.write(data)
    document = collector.finish()
    assert isinstance(document, MemoryDocument)
    assert document.read() is data
    document.close()
    with pytest.raises(ValueError, match="closed"):
        document.read()
