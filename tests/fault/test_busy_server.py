"""A server that asks to be left alone is, also by a crawl that was killed at once and resumed."""

import signal
import time
from pathlib import Path
from typing import Any

import pytest

from tests.fault.crawl import await_that, commit_number, ended, started
from tests.job.site import Answer, page, served

WAIT_S = 4


class BusyOnce(dict[str, Answer]):
    """Says when it was asked for a page, and the first time that it has no time."""

    def __init__(self, status: int, wait_s: int = WAIT_S) -> None:
        super().__init__({"/robots.txt": (404, {}, "")})
        self.status, self.wait_s = status, wait_s
        self.asked_s: list[float] = []

    def get(self, key: str, default: Any = None) -> Any:
        if key != "/":
            return super().get(key, default)
        self.asked_s.append(time.monotonic())
        busy = (self.status, {"Retry-After": str(self.wait_s)}, "later")
        return busy if len(self.asked_s) == 1 else page(title="at last")


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_busy_server_is_not_asked_too_early_though_the_crawl_was_killed_right_after(
    tmp_path: Path, status: int
) -> None:
    pages, crawl, log = BusyOnce(status), tmp_path / "crawl", tmp_path / "log"
    with served(pages) as port:
        options = ["--delay", "0s", "--allow-network", "127.0.0.0/8"]
        options += ["--set", "journal.every_s=3600", "--set", "effects.retry_s=0.1"]
        command = ["crawl", f"http://127.0.0.1:{port}/", "--into", str(crawl), *options]
        with started(command, log) as process:
            # No other commit is made for an hour: this one was forced by the answer.
            assert await_that(lambda: commit_number(crawl) > 0, process), log.read_text()
            process.send_signal(signal.SIGKILL)
            process.wait()
        assert len(pages.asked_s) == 1
        assert ended(["resume", str(crawl)], log) == 0, log.read_text()
    first_s, second_s = pages.asked_s
    assert second_s - first_s >= WAIT_S
