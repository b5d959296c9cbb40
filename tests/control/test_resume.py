"""A crawl goes on with changes, from another place, and by a newer version."""

import json
import subprocess
from pathlib import Path

import pytest

import whimbrel as library
from tests.control.rig import crawling
from tests.job.shelf import ADDRESS, PORT, SIZE, pages
from tests.job.site import served
from tests.sim.crawl import whimbrel
from whimbrel.bench.exact import differences
from whimbrel.control.api import Pause, Stop, Unpause
from whimbrel.error import Busy
from whimbrel.job.stored import stored_job
from whimbrel.simweb.spec import WebSpec

KEPT = Path(__file__).parents[1] / "data" / "crawl-0.1.tar.gz"
SPEC = WebSpec(hosts=8, pages=60, latency_ms=20, robots={}, exhibits={"copy": 0.05, "missing": 0.05})


def files(directory: Path) -> dict[str, bytes]:
    found = [path for path in directory.rglob("*") if path.is_file() and path.parent.name != "state"]
    return {path.relative_to(directory).as_posix(): path.read_bytes() for path in found}


def test_a_crawl_goes_on_with_changes_that_are_safe_from_another_place_and_others_are_refused(tmp_path: Path) -> None:
    with crawling(SPEC, tmp_path, "--connections", "4") as crawl:
        crawl.until(lambda now: now["progress"]["visited"] > 100, "a hundred visits")
        crawl.control.carry_out(Stop())
        crawl.wait()
        moved = tmp_path / "another" / "place"
        moved.parent.mkdir()
        crawl.directory.rename(moved)
        before = files(moved)
        for change, why in (
            ("mode=broad", "a broad crawl needs --contact"),
            ("frontier.mode=broad", "frontier.mode was 'site' when the crawl began and cannot become 'broad'"),
            ("state.directory=/tmp", "state.directory was"),
            ("frontier.retry=3", "unknown setting 'retry'; did you mean"),
            ("ordre=depth", "did you mean order?"),
            ("connections=none", "connections"),
            ("nonsense", "write KEY=VALUE"),
        ):
            refused = whimbrel("resume", str(moved), "--set", change)
            assert refused.returncode == 2, change
            assert why in refused.stderr, refused.stderr
            assert "Traceback" not in refused.stderr
        assert files(moved) == before
        changes = (
            "order=depth",
            "connections=16",
            "seen.use=bloom-seen",
            "parser.instances=2",
            "router.max_segments=19",
        )
        sets = [word for change in changes for word in ("--set", change)]
        done = whimbrel("resume", str(moved), "--json", *sets)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["state"] == "done"
        assert differences(moved, crawl.served.web, crawl.served.running.seeds) == []
        assert whimbrel("verify", str(moved)).returncode == 0
        assert stored_job(moved).options.order == "breadth"


def test_a_running_crawl_is_neither_resumed_nor_begun_anew_and_stays_within_reach(tmp_path: Path) -> None:
    with crawling(SPEC, tmp_path, "--max-time", "10m") as crawl:
        crawl.control.carry_out(Pause())
        own = ("control.json", "job.toml")
        before = [(crawl.directory / name).read_bytes() for name in own]
        busy = f"another process (pid {crawl.process.pid}) works on {crawl.directory}"
        for arguments in (
            ("resume", str(crawl.directory)),
            ("resume", str(crawl.directory), "--max-pages", "5", "--json"),
            ("crawl", *crawl.served.running.seeds, "--into", str(crawl.directory)),
        ):
            refused = whimbrel(*arguments)
            assert (refused.returncode, refused.stdout) == (2, ""), refused.stdout + refused.stderr
            assert busy in refused.stderr
            assert "resume" not in refused.stderr
        for again in (True, False):
            with pytest.raises(Busy, match="works on"):
                library.Crawl(*crawl.served.running.seeds).run(crawl.directory, resume=again)
        assert [(crawl.directory / name).read_bytes() for name in own] == before
        crawl.control.carry_out(Unpause())
        crawl.control.carry_out(Stop())
        crawl.wait()
        assert whimbrel("verify", str(crawl.directory)).returncode == 0


def test_a_crawl_of_this_very_process_is_not_resumed_beside_itself(tmp_path: Path) -> None:
    directory = tmp_path / "crawl"
    refused: list[str] = []
    within_reach: list[bool] = []

    def resume_once(_: object) -> None:
        if refused or not (directory / "state" / "LOCK").exists():
            return
        with pytest.raises(Busy) as found:
            library.Crawl(seed).run(directory, resume=True)
        refused.append(str(found.value))
        within_reach.append((directory / "control.json").exists())

    with served(pages(), ADDRESS) as port:
        seed = f"http://{ADDRESS}:{port}/0"
        crawl = library.Crawl(seed, delay=0.1, allow_network=["127.0.0.0/8"], max_pages=10)
        result = crawl.run(directory, show=resume_once)
    assert within_reach == [True]
    assert len(refused) == 1
    assert refused[0].startswith(f"this process itself works on {directory}; wait for it to end")
    assert not result.failures
    assert whimbrel("verify", str(directory)).returncode == 0


@pytest.mark.parametrize("order", ["breadth", "depth"])
def test_a_crawl_of_an_earlier_version_goes_on(tmp_path: Path, order: str) -> None:
    subprocess.run(["tar", "-xf", str(KEPT), "-C", str(tmp_path)], check=True)  # Python knows `filter` from 3.11.4 on.
    directory = tmp_path / "crawl-0.1"
    with served(pages(), ADDRESS, port=PORT):
        done = whimbrel("resume", str(directory), "--json", "--max-pages", "1000", "--set", f"order={order}")
        assert done.returncode == 0, done.stderr
    found = library.open(directory).sql("select url, outcome, count(*) as n from fetches group by all").dicts()
    stored = [row["url"] for row in found if row["outcome"] == "stored"]
    assert sorted(stored) == sorted(f"http://{ADDRESS}:{PORT}/{number}" for number in range(SIZE))
    assert {row["n"] for row in found} == {1}
    assert whimbrel("verify", str(directory)).returncode == 0
