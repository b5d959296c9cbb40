"""A full disk: the crawl pauses, says what to do, and goes on when there is room, with nothing lost."""

import asyncio
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fault.crawl import (
    Result,
    assert_readable,
    assert_whole,
    await_that,
    commit_number,
    crawl_command,
    ended,
    resume_command,
    started,
)
from tests.sim.web import Served
from whimbrel.state.api import StateError
from whimbrel.state.option import RocksConfig
from whimbrel.state.rocks import RocksState

QUICKLY = {"journal.every_s": 0.05, "journal.segment_bytes": 30_000, "journal.tail_bytes": 20_000}


class SmallDisk:
    """A file system of its own, and a file that fills it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.crawl = path / "crawl"
        self._filler = path / "filler"

    @property
    def free_bytes(self) -> int:
        found = os.statvfs(self.path)
        return found.f_bavail * found.f_frsize

    def fill(self, leave_bytes: int = 0) -> None:
        with self._filler.open("ab", buffering=0) as file:
            try:
                while self.free_bytes > leave_bytes:
                    file.write(bytes(min(1 << 16, max(4096, self.free_bytes - leave_bytes))))
            except OSError:
                file.truncate(max(0, file.tell() - leave_bytes))

    def make_room(self) -> None:
        self._filler.unlink()


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    path = tmp_path / "disk"
    path.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=40m", "tmpfs", str(path)], capture_output=True, text=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"a small file system cannot be mounted here: {mounted.stderr.strip()}")
    try:
        yield SmallDisk(path)
    finally:
        subprocess.run(["umount", str(path)], check=True)


def said(log: Path, text: str) -> int:
    return log.read_text().count(text)


@pytest.mark.parametrize(("reserve_bytes", "rooms"), [(10_000_000, (0,)), (0, (0, 8_192, 16_384, 28_672))])
def test_a_crawl_pauses_while_the_disk_is_full_and_then_goes_on(
    disk: SmallDisk,
    tmp_path: Path,
    small: Served,
    small_result: Result,
    reserve_bytes: int,
    rooms: tuple[int, ...],
) -> None:
    """With a reserve the disk is never really full; without one the archive, the tables and the state all meet it."""
    log = tmp_path / "log"
    settings = {**QUICKLY, "journal.reserve_bytes": reserve_bytes}
    with started(crawl_command(small, disk.crawl, "20ms", **settings), log) as process:
        for leave_bytes in rooms:
            paused, went_on = said(log, "paused: "), said(log, "going on")
            reached = commit_number(disk.crawl) + 2
            if not await_that(lambda: commit_number(disk.crawl) >= reached, process):  # noqa: B023
                break
            disk.fill(leave_bytes)
            assert await_that(lambda: said(log, "paused: ") > paused, process)  # noqa: B023
            if not leave_bytes:
                assert_readable(disk.crawl)
            disk.make_room()
            assert await_that(lambda: said(log, "going on") > went_on, process)  # noqa: B023
        assert process.wait(40) == 0, log.read_text()[-2000:]
    assert "Make room there and the crawl goes on by itself" in log.read_text()
    assert_whole(disk.crawl, small_result, small)


def test_a_crawl_stopped_while_it_pauses_can_be_resumed_when_there_is_room(
    disk: SmallDisk, tmp_path: Path, small: Served, small_result: Result
) -> None:
    log = tmp_path / "log"
    settings = {**QUICKLY, "journal.reserve_bytes": 0}
    with started(crawl_command(small, disk.crawl, "20ms", **settings), log) as process:
        await_that(lambda: commit_number(disk.crawl) >= 3, process)
        disk.fill()
        assert await_that(lambda: said(log, "paused: ") > 0, process)
        process.send_signal(signal.SIGTERM)
        # 3 when it ends while it pauses, 1 when the disk is full once more just as it ends.
        assert process.wait(20) in (1, 3), log.read_text()[-2000:]
    assert assert_readable(disk.crawl).number >= 3
    before = log.read_text()
    assert ended(resume_command(disk.crawl), log) == 1
    assert "No space left on device" in log.read_text().removeprefix(before)
    disk.make_room()
    assert ended(resume_command(disk.crawl), log) == 0
    assert_whole(disk.crawl, small_result, small)


def test_the_state_takes_writes_again_after_the_disk_was_full(disk: SmallDisk) -> None:
    state = RocksState(RocksConfig(directory=str(disk.crawl)))
    asyncio.run(state.open())
    state.put("urls", b"first", b"1")
    first = state.seal(1)
    state.write(first)
    state.forget(first)
    disk.fill()
    for number in range(2_000):
        state.put("urls", b"key %d" % number, bytes(100))
    group = state.seal(2)
    with pytest.raises(OSError, match="No space left on device"):
        state.write(group)
    assert state.failed
    with pytest.raises(StateError, match="to be opened again"):
        state.reopen()
    with pytest.raises(OSError, match="must be opened again"):
        state.stored("urls", b"key 5")
    assert state.get("urls", b"first") == b"1"
    disk.make_room()
    state.reopen()
    assert state.stored("urls", b"first") == b"1"
    assert state.stored("urls", b"key 5") is None
    state.write(group)
    state.forget(group)
    assert state.get("urls", b"key 5") == bytes(100)
    asyncio.run(state.close())
