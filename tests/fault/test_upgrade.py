"""Half a crawl that an earlier version wrote goes on to the end, and is as if one version had made it all."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.commit.format_1 import unpack
from tests.fault.crawl import Result, assert_whole, ended, result, resume_command
from tests.sim.crawl import crawled
from tests.sim.web import Served
from whimbrel.simweb.server.serve import await_running
from whimbrel.simweb.spec import read_spec
from whimbrel.simweb.web import Web

DNS_PORT = 19_453
"""Written into the stored crawl's job, as the ports of its web are into its URLs."""
PATIENT = ("effects.retry_s=0.2", "frontier.park_s=[0.5, 1.0]", "frontier.park_after=5", "max_pages=100000")
"""The stored crawl waited for minutes and parked at the first failure, so that something would be waiting."""


@contextmanager
def served_again(into: Path) -> Iterator[Served]:
    """The web of the stored crawl, at the same ports as then."""
    spec, state = into / "web.json", into / "web"
    state.mkdir()
    command = [sys.executable, "-m", "whimbrel", "simweb", "serve", "--spec", str(spec), "--dns-port", str(DNS_PORT)]
    with subprocess.Popen([*command, "--state", str(state)], stdout=subprocess.DEVNULL) as server:
        try:
            yield Served(await_running(server, state), Web(read_spec(spec)))
        finally:
            server.terminate()
            server.wait(10)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    into = tmp_path_factory.mktemp("stored")
    unpack(into)
    with served_again(into) as served:
        yield served


@pytest.fixture(scope="module")
def fresh(served: Served, tmp_path_factory: pytest.TempPathFactory) -> Result:
    into = tmp_path_factory.mktemp("fresh") / "crawl"
    crawled(served, into, "--set", "journal.text=false")
    return result(into)


@pytest.mark.parametrize("crash", ["", "upgrade-renamed"], ids=["undisturbed", "killed between two names"])
def test_a_stored_crawl_goes_on_to_the_end_and_equals_a_fresh_one(
    served: Served, fresh: Result, tmp_path: Path, crash: str
) -> None:
    directory, log = unpack(tmp_path), tmp_path / "log"
    if crash:
        armed = [*resume_command(directory), "--set", f"journal.crash_at={crash}"]
        assert ended(armed, log) == -signal.SIGKILL
    assert ended(resume_command(directory, *PATIENT), log) == 0, log.read_text()[-3000:]
    assert_whole(directory, fresh, served)
