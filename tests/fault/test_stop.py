"""A crawl that a user stops says so, whatever else comes true while it ends."""

import signal
from pathlib import Path

from tests.fault.crawl import await_that, started
from tests.fault.local_server import body_server


def test_a_limit_that_is_reached_after_ctrl_c_did_not_end_the_crawl(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with body_server(seconds=4.0) as server:
        seeds = [f"http://127.0.1.1:{server.port}/{size}" for size in (500_000, 400_000)]
        command = ["crawl", *seeds, "--scope", "page", "--into", str(tmp_path / "crawl"), "--contact", "a@b.example"]
        command += ["--allow-network", "127.0.0.0/8", "--max-time", "3s"]
        with started(command, log) as process:
            assert await_that(lambda: any("000" in asked.path for asked in server.log), process)
            process.send_signal(signal.SIGINT)
            assert process.wait(60) == 3, log.read_text()
    assert "--max-time 3s is reached" not in log.read_text()
