"""What this machine lacks is no server's fault: no visit ends by it, none is counted, and the crawl goes on when it is
there again."""

import resource
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fault.crawl import await_that, rows, started
from tests.fault.local_server import BodyServer, body_server

HOSTS = 12
BODY_BYTES = 4_000_000


def crawl_of(server: BodyServer, into: Path, size: int, hosts: int = HOSTS, *more: str) -> list[str]:
    seeds = [f"http://127.0.1.{number}:{server.port}/{size}" for number in range(1, hosts + 1)]
    settings = ("journal.every_s=0.1", "journal.reserve_bytes=5000000")
    return [
        *("crawl", *seeds, "--scope", "page", "--into", str(into), "--json", "--contact", "a@b.example"),
        *("--allow-network", "127.0.0.0/8"),
        *(part for setting in settings for part in ("--set", setting)),
        *more,
    ]


def assert_each_once(directory: Path, hosts: int, size: int) -> None:
    found = rows(directory, "select url, outcome, reason, attempt, bytes from fetches")
    assert sorted({(row["outcome"], row["reason"], row["attempt"], row["bytes"]) for row in found}) == [
        ("stored", "new", 1, size)
    ]
    assert len({row["url"] for row in found}) == len(found) == hosts
    assert [row for row in rows(directory, "select * from hosts") if row["failed"] or row["last_error"]] == []


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "disk"
    path.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=50m", "tmpfs", str(path)], capture_output=True, text=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"a small file system cannot be mounted here: {mounted.stderr.strip()}")
    try:
        yield path
    finally:
        subprocess.run(["umount", str(path)], check=True)


def test_bodies_that_find_no_room_on_disk_are_fetched_again_when_there_is_some(disk: Path, tmp_path: Path) -> None:
    log, into = tmp_path / "log", disk / "crawl"
    with body_server(seconds=0.5) as server, started(crawl_of(server, into, BODY_BYTES), log) as process:
        assert await_that(lambda: "paused: " in log.read_text(), process), log.read_text()[-2000:]
        subprocess.run(["mount", "-o", "remount,size=400m", str(disk)], check=True)
        assert process.wait(60) == 0, log.read_text()[-2000:]
    assert "Make room there and the crawl goes on by itself" in log.read_text()
    assert "the disk takes data again: going on" in log.read_text()
    assert_each_once(into, HOSTS, BODY_BYTES)


def test_a_disk_with_room_for_some_bodies_at_a_time_takes_all_of_them(disk: Path, tmp_path: Path) -> None:
    """12 bodies of 2 MB, and room for all of their records, but not for all at once: nobody has to do anything."""
    log, into = tmp_path / "log", disk / "crawl"
    (disk / "filler").write_bytes(bytes(8_000_000))
    with body_server(seconds=1.0) as server, started(crawl_of(server, into, 2_000_000), log) as process:
        assert process.wait(60) == 0, log.read_text()[-2000:]
        assert len(server.log) > 2 * HOSTS
    assert "paused: " in log.read_text()
    assert_each_once(into, HOSTS, 2_000_000)


def test_a_crawl_without_file_descriptors_pauses_and_no_host_is_blamed(tmp_path: Path) -> None:
    log, into = tmp_path / "log", tmp_path / "crawl"
    with (
        body_server(seconds=0.3) as server,
        started(crawl_of(server, into, 300_000, 40, "--connections", "4"), log) as process,
    ):
        assert await_that(lambda: len(server.log) >= 8, process)
        open_files = [*Path(f"/proc/{process.pid}/fd").iterdir()]
        soft, hard = resource.prlimit(process.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (len(open_files) // 2, hard))
        assert await_that(lambda: "paused: " in log.read_text(), process), log.read_text()[-2000:]
        resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (soft, hard))
        assert process.wait(60) == 0, log.read_text()[-2000:]
    said = log.read_text()
    assert "no file descriptors left (Too many open files)" in said
    assert "ulimit -n" in said
    assert "Make room" not in said
    assert_each_once(into, 40, 300_000)
