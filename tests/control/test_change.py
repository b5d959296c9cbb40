"""Parts of the running crawl are exchanged, and what it finds is the truth all the same."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.control.rig import CALLERS, RunningCrawl, crawling
from tests.sim.crawl import whimbrel
from whimbrel.bench.exact import NO_HOP_LIMIT, differences
from whimbrel.control.api import (
    Action,
    Add,
    Allow,
    Bind,
    Block,
    Joint,
    Refused,
    Remove,
    Seed,
    Set,
    Speed,
    Unblock,
    Unpause,
)
from whimbrel.job.stored import stored_job
from whimbrel.simweb.spec import WebSpec

SHARES = {
    "copy": 0.05, "alias": 0.05, "missing": 0.05, "redirect-301": 0.05, "redirect-chain": 0.02, "html-broken": 0.02,
    "coding-gzip": 0.05, "odd-urls": 0.02, "near": 0.05, "retry-seconds-503": 0.005,
}  # fmt: skip
SPEC = WebSpec(
    hosts=30, pages=60, latency_ms=20, mirrors=0.1, soft404=0.1, exhibits=SHARES,
    robots={"missing-404": 0.3, "rules": 0.2},
)  # fmt: skip


def progress(crawl: RunningCrawl, more: int) -> None:
    before = crawl.status()["progress"]["visited"]
    crawl.until(lambda now: now["progress"]["visited"] >= before + more, f"{more} more visits")


def uses(crawl: RunningCrawl) -> dict[str, tuple[str, int]]:
    return {part.name: (part.use, part.instances) for part in crawl.control.wiring().parts}


def test_url_seen_parsers_and_order_change_while_it_runs_and_the_result_is_the_truth(tmp_path: Path) -> None:
    http, command, python = CALLERS.values()
    with crawling(SPEC, tmp_path, "--connections", "16", "--max-pages-per-s", "250") as crawl:
        where = crawl.directory
        progress(crawl, 50)
        http(where, Bind("seen", "bloom-seen", {"urls": 100_000}))
        assert uses(crawl)["seen"] == ("bloom-seen", 1)
        progress(crawl, 100)
        command(where, Set({"order": "depth"}))
        progress(crawl, 100)
        python(where, Set({"parser.instances": 2}))
        assert uses(crawl)["parser"] == ("parser", 2)
        progress(crawl, 100)
        command(where, Bind("seen", "disk-seen"))
        progress(crawl, 100)
        http(where, Set({"parser.instances": 1}))
        progress(crawl, 100)
        python(where, Bind("seen", "bloom-seen", {"error": 0.000001}))
        command(where, Set({"order": "breadth"}))
        http(where, Bind("seen", "disk-seen"))
        assert crawl.wait()["state"] == "done"
        assert differences(where, crawl.served.web, crawl.served.running.seeds, NO_HOP_LIMIT) == []
    kept = stored_job(where).options
    assert kept.set["seen"]["use"] == "disk-seen"
    assert kept.set["parser"]["instances"] == 1


TALLY = """
from pathlib import Path

from whimbrel.flow import Config, In, Sync
from whimbrel.parse.api import Parsed


class TallyConfig(Config, frozen=True):
    file: str = ""


class Tally(Sync):
    Config = TallyConfig
    parsed = In(Parsed)

    async def open(self):
        self.count = 0

    def process(self, parsed):
        self.count += 1

    async def close(self):
        with open(self.config.file, "a") as file:
            print(self.count, file=file)
"""


def test_a_component_of_ones_own_is_added_and_removed_by_each_way(tmp_path: Path) -> None:
    (tmp_path / "tally.py").write_text(TALLY)
    counts = tmp_path / "counts"
    with crawling(
        SPEC, tmp_path, "--connections", "16", "--max-pages-per-s", "250", "--with", str(tmp_path / "tally.py")
    ) as crawl:
        for call in CALLERS.values():
            joint = Joint("parser.parsed", "tally.parsed")
            call(crawl.directory, Add("tally", "Tally", {"file": str(counts)}, connectors=(joint,)))
            assert uses(crawl)["tally"] == ("Tally", 1)
            progress(crawl, 60)
            call(crawl.directory, Remove("tally"))
            assert "tally" not in uses(crawl)
            progress(crawl, 20)
        joint = Joint("parser.parsed", "tally.parsed")
        CALLERS["http"](crawl.directory, Add("tally", "Tally", {"file": str(counts)}, connectors=(joint,)))
        assert crawl.wait()["state"] == "done"
        assert differences(crawl.directory, crawl.served.web, crawl.served.running.seeds, NO_HOP_LIMIT) == []
    numbers = list(map(int, counts.read_text().split()))
    assert len(numbers) == 4
    assert all(number >= 60 for number in numbers)
    assert stored_job(crawl.directory).options.wiring == "wiring.toml"
    again = whimbrel("graph", str(crawl.directory))
    assert "tally" in again.stdout, again.stderr


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"frontier.mode": "broad"}, "'frontier' stays as it is while the job runs"),
        ({"state.directory": "/tmp"}, "'state' stays as it is while the job runs"),  # noqa: S108
        ({"mode": "broad"}, "hosts are grouped by it"),
        ({"seeds": ["a.example"]}, "use the action 'seed'"),
        ({"connections": 0}, "0 is less than 1"),
        ({"ordre": "depth"}, "did you mean order?"),
        ({"frontier.retry": 3}, "unknown setting 'retry'"),
        ({"seen.use": "bloom"}, "there is no provider 'bloom'"),
        ({"seen.instances": 2}, "a provider is there once"),
        ({"parser.instances": "two"}, "not a whole number"),
        ({"router.exclude_patterns": ["("]}, "not a regular expression"),
        ({"parzer.text": False}, "has no 'parzer'"),
        ({"block": ["a"]}, "use the action 'block'"),
    ],
)
def test_a_change_that_cannot_be_is_refused_with_the_reason_and_changes_nothing(
    endless: RunningCrawl, settings: dict[str, object], why: str
) -> None:
    before, job = endless.control.config(), (endless.directory / "job.toml").read_text()
    with pytest.raises(Refused, match=re.escape(why)):
        endless.control.carry_out(Set(settings))
    assert endless.control.config() == before
    assert (endless.directory / "job.toml").read_text() == job


@pytest.mark.parametrize(
    ("action", "why"),
    [
        (Add("reader", "parser", needs={"clock": "clock"}), "nothing feeds the input 'fingerprinted' of 'reader'"),
        (Add("reader", "os.system"), "there is no component 'os.system'"),
        (Remove("parser"), "has no 'parser'"),
        (Remove("parzer"), "has no 'parzer'"),
        (Bind("sean", "disk-seen"), "the wiring has no provider 'sean'"),
        (Block(("a b",)), "cannot block 'a b'"),
        (Unblock(("a.example",)), "'a.example' is not blocked"),
        (Seed(("ftp://a.example",)), "is not an http or https URL"),
        (Allow("nobody.example"), "knows no host"),
        (Speed(), "say what is to change"),
        (Speed(delay_s=1.0, of="a b"), "'a b': it is not the name or address of a host"),
        (Unpause(), "is not paused"),
    ],
)
def test_an_action_that_makes_no_sense_is_refused_with_the_reason(
    endless: RunningCrawl, action: Action, why: str
) -> None:
    before = endless.control.config()
    with pytest.raises(Refused, match=re.escape(why)):
        endless.control.carry_out(action)
    assert endless.control.config() == before


@pytest.fixture(scope="module")
def endless(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningCrawl]:
    """A crawl that is slow enough to be there for all tests."""
    spec = WebSpec(hosts=2, pages=10_000, latency_ms=20, robots={}, exhibits={})
    with crawling(spec, tmp_path_factory.mktemp("endless"), "--max-pages-per-s", "5") as crawl:
        yield crawl
