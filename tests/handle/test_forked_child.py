"""What handlers start ends with the crawl."""

import os
from pathlib import Path

import pytest

from tests.cli.command import run_alone
from tests.job.site import page, served

HANDLER = """
import os
import signal
import whimbrel as w


@w.handler
def leave_a_child_behind(page):
    if os.fork() == 0:
        {session}
        with open({file!r}, "a") as file:
            file.write(f"{{os.getpid()}}\\n")
        while True:
            signal.pause()
    while not os.path.exists({file!r}):
        pass
"""


@pytest.mark.parametrize("session", ["pass", "os.setsid()"])
def test_a_child_that_a_handler_forked_does_not_outlive_the_crawl(tmp_path: Path, session: str) -> None:
    pids = tmp_path / "pids"
    (tmp_path / "own.py").write_text(HANDLER.format(file=str(pids), session=session))
    with served({"/": page("/a"), "/a": page()}) as port:
        command = ("crawl", f"http://127.0.0.1:{port}/", "--into", str(tmp_path / "out"), "--delay", "0s")
        done = run_alone(*command, "--with", str(tmp_path / "own.py"))
    assert done.code == 0, done.words
    started = pids.read_text().split()
    assert started
    assert [pid for pid in map(int, started) if alive(pid)] == []


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
