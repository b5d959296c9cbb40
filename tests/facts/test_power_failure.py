"""A power failure or a kill between any two operations of the disk: each commit's rows are there, once."""

import shutil
from pathlib import Path

import pytest

from tests.facts.crawl import NOTHING, Published, commit, commit_nothing, expected, open_facts, shown, wait
from tests.fault.recording_disk import Keep, RecordingDisk, replay

COMMITS = 5


def recorded(root: Path) -> RecordingDisk:
    """Commits with rotations under way, finished, and a restart in between; then the end of the crawl."""
    disk = RecordingDisk(root)
    facts = open_facts(root, disk=disk)
    last = NOTHING
    for number in range(1, COMMITS + 1):
        last = commit(facts, number)
        disk.mark(last)
        facts.rotate()
        if number == 3:
            facts.close()
            facts = open_facts(root, last, disk)
        elif number != 4:
            wait(facts)
    while facts.finish():
        last = commit_nothing(facts, last.number + 1)
        disk.mark(last)
    facts.close()
    return disk


@pytest.mark.parametrize("keep", Keep)
def test_nothing_is_lost_and_nothing_is_twice(tmp_path: Path, keep: Keep) -> None:
    root = tmp_path / "crawl"
    root.mkdir()
    disk = recorded(root)
    for end in range(len(disk.log) + 1):
        left = tmp_path / "left"
        left.mkdir()
        marks = replay(disk.log[:end], left, keep)
        last: Published = marks[-1] if marks else NOTHING
        facts = open_facts(left, last)
        assert shown(left, last) == expected(min(last.number, COMMITS)), f"after operation {end}"
        if last.number < COMMITS:
            following = commit(facts, last.number + 1)
            assert shown(left, following) == expected(following.number), f"going on after operation {end}"
        facts.close()
        shutil.rmtree(left)
