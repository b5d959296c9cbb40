"""What a process that died has left is found by the next one, whatever number either has."""

import os
from pathlib import Path

from whimbrel.parse.crash_note import CrashNote


def died_reading(directory: Path, url: str) -> None:
    pid = os.fork()
    if pid == 0:
        note = CrashNote(directory)
        note.begin("http://a.test/a-longer-one-before")
        note.begin(url)
        os._exit(0)
    os.waitpid(pid, 0)


def test_what_was_read_last_is_suspected_from_then_on(tmp_path: Path) -> None:
    died_reading(tmp_path, "http://a.test/1")
    died_reading(tmp_path, "http://a.test/2")
    for _ in range(2):
        note = CrashNote(tmp_path)
        assert note.suspects == {"http://a.test/1", "http://a.test/2"}
        note.close()


def test_notes_of_the_same_process_are_no_crashes(tmp_path: Path) -> None:
    one = CrashNote(tmp_path)
    one.begin("http://a.test/1")
    two = CrashNote(tmp_path)
    assert two.suspects == frozenset()
    one.close()
    two.close()
    assert list((tmp_path / "reading").iterdir()) == []


def test_a_crash_that_had_the_same_process_number_is_found(tmp_path: Path) -> None:
    left = tmp_path / "reading" / f"now-{os.getpid()}-1"
    left.parent.mkdir()
    left.write_text("http://a.test/1\n")
    note = CrashNote(tmp_path)
    assert note.suspects == {"http://a.test/1"}
    note.close()
