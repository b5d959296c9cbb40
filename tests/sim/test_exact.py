"""Whole crawls of a wild web by the command line: for every URL, outcome and reason are those of the truth."""

from pathlib import Path

import msgspec
import pytest

from tests.sim.crawl import crawled, whimbrel
from tests.sim.web import serve
from whimbrel.bench.exact import NO_HOP_LIMIT, differences
from whimbrel.simweb.exhibit import PAGE_EXHIBITS
from whimbrel.simweb.preset import Preset, spec_of
from whimbrel.simweb.spec import WebSpec, changed

ENDLESS = ("calendar", "growing", "listing", "repeating", "repeating-run", "session", "tree")
"""Traps that a crawl leaves after dozens of pages, or after a thousand. When parents are proposed too, each of their
folders is a trap of its own."""
SLOW = ("drip", "stall", "stall-body", "slow-start", "retry-seconds-429", "retry-seconds-503", "retry-date-429")
"""Exhibits that take seconds each time."""


def wild(hosts: int, pages: int, often: float, slow: float, endless: float) -> WebSpec:
    """Every exhibit, robots.txt variant and trouble; endless and slow exhibits less often than the others."""
    exhibits = {name: endless if name in ENDLESS else slow if name in SLOW else often for name in PAGE_EXHIBITS}
    changes = {"hosts": hosts, "pages": pages, "latency_ms": 0, "exhibits": exhibits}
    return changed(spec_of(Preset.WILD), changes)


OTHERS = ("depth", "ascend")
PATIENT = {"transport.connect_timeout_s": 10.0, "transport.first_byte_timeout_s": 12.0, "transport.timeout_s": 30.0,
           "effects.retry_s": 2.0, "resolver.min_ttl_s": 7200.0, "resolver.timeout_s": 20.0,
           "resolver.tries": 7}  # fmt: skip
"""The server of a large web is a Python process that makes bombs of 256 MB between two answers, also of DNS: a host
that answers two questions well and the third badly must not be asked again because of that."""


UNHURRIED = {"transport.connect_timeout_s": 4.0, "transport.first_byte_timeout_s": 6.0, "transport.timeout_s": 12.0}
"""For a small one, beside other tests."""


@pytest.mark.parametrize("order", ["breadth", *(pytest.param(order, marks=pytest.mark.long) for order in OTHERS)])
def test_every_url_of_a_small_wild_web_ends_as_the_truth_says(tmp_path: Path, order: str) -> None:
    spec = wild(80, 8, often=0.01, slow=0.002, endless=0.0005 if order == "ascend" else 0.002)
    with serve(spec, tmp_path / "web") as served:
        crawled(served, tmp_path / "crawl", "--order", order, "--connections", "128", **UNHURRIED)
        expected = msgspec.structs.replace(NO_HOP_LIMIT, ascend=order == "ascend")
        assert differences(tmp_path / "crawl", served.web, served.running.seeds, expected) == []
        assert whimbrel("verify", str(tmp_path / "crawl")).returncode == 0


@pytest.mark.long
@pytest.mark.parametrize("order", ["breadth", "depth", "ascend"])
def test_every_url_of_a_large_wild_web_ends_as_the_truth_says(tmp_path: Path, order: str) -> None:
    spec = wild(2_000, 50, often=0.003, slow=0.0002, endless=0.000004 if order == "ascend" else 0.0002)
    with serve(spec, tmp_path / "web") as served:
        command = ["--order", order, "--connections", "256"]
        found = crawled(served, tmp_path / "crawl", *command, timeout_s=1700, **PATIENT)
        assert found["outcomes"]["stored"] > 50_000
        expected = msgspec.structs.replace(NO_HOP_LIMIT, ascend=order == "ascend")
        assert differences(tmp_path / "crawl", served.web, served.running.seeds, expected) == []
        assert whimbrel("verify", str(tmp_path / "crawl")).returncode == 0
