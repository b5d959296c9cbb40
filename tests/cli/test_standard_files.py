"""A crawl whose output nobody reads, or whose standard files are closed, ends as any other."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.fault.crawl import rows
from tests.fault.local_server import body_server


def shell(tmp_path: Path, port: int, rest: str) -> "subprocess.CompletedProcess[bytes]":
    site = f"http://127.0.0.1:{port}"
    command = (
        f"set -o pipefail; {sys.executable} -m whimbrel crawl {site}/1000 {site}/2000 "
        f"--scope page --into {tmp_path / 'crawl'} --allow-network 127.0.0.0/8 --contact a@b.example {rest}"
    )
    return subprocess.run(["bash", "-c", command], capture_output=True, timeout=60, check=False)


@pytest.mark.parametrize("rest", ["| head -1", "2>&1 | true", "2>&-", ">&-", "<&-", ">&- 2>&- <&-"])
def test_a_crawl_goes_to_its_end_whatever_its_standard_files_are(tmp_path: Path, rest: str) -> None:
    with body_server() as server:
        done = shell(tmp_path, server.port, rest)
    assert done.returncode == 0, (done.stdout, done.stderr)
    assert len(rows(tmp_path / "crawl", "select url from pages")) == 2
    assert b"Traceback" not in done.stdout + done.stderr
