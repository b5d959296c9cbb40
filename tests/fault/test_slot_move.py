"""Half a crawl whose slots all move to another directory goes on there, and is as if it had never moved."""

import shutil
import signal
from pathlib import Path

from tests.fault.crawl import Result, assert_whole, crawl_command, ended, resume_command
from tests.frontier.rig import Rig
from tests.sim.web import Served


def test_a_crawl_whose_slots_have_moved_ends_as_one_that_was_left_alone(
    small: Served, small_result: Result, tmp_path: Path
) -> None:
    crawl, moved, log = tmp_path / "crawl", tmp_path / "moved", tmp_path / "log"
    settings = {"journal.every_s": 0.05, "journal.crash_at": "rotated:6"}
    assert ended(crawl_command(small, crawl, "5ms", **settings), log) == -signal.SIGKILL
    shutil.copytree(crawl, moved, ignore=shutil.ignore_patterns("state"))
    source, target = Rig(crawl), Rig(moved)
    for key, value in source.state.pairs("meta", b"", b"\xff", 1_000):
        target.state.put("meta", key, value)
    queued = source.frontier.queued
    assert queued
    for slot in source.frontier.transfer.slots():
        for chunk in source.frontier.transfer.export(slot):
            target.frontier.transfer.take_in(chunk)
            target.commit()
        while source.frontier.transfer.delete(slot, 100):
            source.commit()
    assert (source.frontier.queued, target.frontier.queued) == (0, queued)
    source.close()
    target.close()
    assert ended(resume_command(moved), log) == 0, log.read_text()[-3000:]
    assert_whole(moved, small_result, small)
