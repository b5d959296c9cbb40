"""Every fault of the simulated web at once: a bounded time, a bounded memory, and the right outcome for each URL."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from tests.sim.crawl import options
from tests.sim.test_exact import ENDLESS
from tests.sim.web import serve
from whimbrel.bench.exact import differences
from whimbrel.simweb.exhibit import PAGE_EXHIBITS, TROUBLES
from whimbrel.simweb.exhibit.robots import VARIANTS
from whimbrel.simweb.spec import WebSpec

MOST_BYTES = 400_000_000
HASTE = {
    "transport.max_bytes": 20_000_000,
    "transport.timeout_s": 6.0,
    "transport.connect_timeout_s": 1.0,
    "transport.first_byte_timeout_s": 2.7,
    "transport.idle_timeout_s": 1.2,
    "transport.min_speed_window_s": 1.2,
    "effects.retry_s": 0.1,
}
ENVIRONMENT = dict.fromkeys(("http_proxy", "https_proxy", "ALL_PROXY"), "http://127.0.0.1:9/")
"""Nobody listens there: a crawl that used them would fetch nothing."""


def peak_bytes(process: "subprocess.Popen[bytes]") -> int:
    """The most memory that a process has had, when it has ended. What `wait4` says counts the parent's, too."""
    peak = 0
    while process.poll() is None:
        with suppress(OSError, StopIteration):
            lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
            peak = 1024 * int(next(line for line in lines if line.startswith("VmHWM")).split()[1])
        with suppress(subprocess.TimeoutExpired):
            process.wait(0.2)
    return peak


def judged(spec: WebSpec, hosts: list[str], folder: Path) -> None:
    """Crawl the first host of a web, and hosts of these names; time is the test's to limit."""
    with serve(spec, folder / "web") as served:
        seeds = [served.web.hosts.origin(0) + "/"]
        for name in hosts:
            host = served.web.hosts.find(name)
            assert host is not None
            seeds.append(host.origin + "/")
        (folder / "seeds").write_text("\n".join(seeds))
        command = [sys.executable, "-m", "whimbrel", "crawl", "--seeds", str(folder / "seeds"), "--json"]
        command += ["--into", str(folder / "crawl"), *options(served, **HASTE)]
        with (folder / "out").open("w") as out, (folder / "err").open("w") as err:
            crawl = subprocess.Popen(command, stdout=out, stderr=err, env={**os.environ, **ENVIRONMENT})
            try:
                peak = peak_bytes(crawl)
            finally:
                crawl.kill()
                crawl.wait()
        assert crawl.returncode == 0, (folder / "err").read_text()[-2000:]
        assert json.loads((folder / "out").read_text())["queued"] == 0
        assert peak < MOST_BYTES
        wrong = differences(folder / "crawl", served.web, seeds)
        assert not wrong, "\n".join(wrong[:20])


@pytest.fixture(scope="module")
def crawls(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, "Future[None]"]]:
    """Both at once: they mostly wait for servers that do not answer."""
    exhibits = {name: 1.0 for name in PAGE_EXHIBITS if name not in ENDLESS}
    names = [*TROUBLES, *(f"robots-{name}" for name in VARIANTS)]
    pages = WebSpec(hosts=1, pages=1, exhibits=exhibits, robots={})
    hosts = WebSpec(hosts=1, pages=1, robots={})
    with ThreadPoolExecutor(2) as pool:
        yield {
            "pages": pool.submit(judged, pages, [], tmp_path_factory.mktemp("pages")),
            "hosts": pool.submit(
                judged, hosts, [f"{name}.exhibit.test" for name in names], tmp_path_factory.mktemp("hosts")
            ),
        }


@pytest.mark.timeout(300)
@pytest.mark.parametrize("of", ["pages", "hosts"])
def test_every_fault_ends_in_time_in_little_memory_and_with_the_right_outcome(
    of: str, crawls: dict[str, "Future[None]"]
) -> None:
    crawls[of].result()
