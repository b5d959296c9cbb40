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
from whimbrel.control.api import Stop
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
