"""Crawls of a served simulated web, compared with its truth and its log."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from tests.sim.web import Served, serve
from whimbrel.archive.api import Record
from whimbrel.simweb.server.log import read_log
from whimbrel.simweb.spec import WebSpec
from whimbrel.simweb.truth import Limits, Options, Truth

HARMLESS = (
    *("redirect-301", "redirect-chain", "redirect-long", "redirect-loop", "redirect-host", "redirect-private"),
    *(
        "redirect-nowhere",
        "redirect-relative",
        "redirect-scheme",
        "status-404",
        "status-410",
        "status-403",
        "status-500",
    ),
    *("html-broken", "html-unclosed", "odd-urls", "chunked", "no-length", "http10"),
    *(
        "interim",
        "length-short",
        "truncated",
        "chunk-cut",
        "chunk-broken",
        "garbage",
        "reset",
        "close-early",
        "reset-reused",
    ),
    *("header-huge", "links-50000", "mime-wrong", "empty", "length-invalid"),
)
"""Exhibits that a crawl without robots.txt, retries, content-seen, charsets and URL limits must get right already."""


def crawl(web: Served, into: Path, *arguments: str, seed: str = "") -> subprocess.CompletedProcess[str]:
    command = [
        sys.executable,
        "-m",
        "whimbrel",
        "crawl",
        seed or web.running.seeds[0],
        "--into",
        str(into),
        "--delay",
        "0s",
    ]
    command += ["--allow-network", "127.0.0.0/8", "--resolver", f"127.0.0.1:{web.running.dns_port}"]
    command += ["--ca", web.running.ca, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=50, check=False)


def records(into: Path) -> list[Record]:
    lines = (into / "outcomes.jsonl").read_bytes().splitlines()
    return [msgspec.json.decode(line, type=Record) for line in lines]


def test_outcome_and_reason_of_every_url_equal_the_truth(tmp_path: Path) -> None:
    spec = WebSpec(hosts=30, pages=20, https=0.3, exhibits=dict.fromkeys(HARMLESS, 0.02), page_bytes=4_000)
    with serve(spec, tmp_path / "web") as web:
        done = crawl(web, tmp_path / "out", "--scope", "any")
        assert done.returncode == 0, done.stdout + done.stderr
        found = records(tmp_path / "out")
        limits = Limits(segments=None, repeats=None, queries=None)
        rows = Truth(web.web, web.running.seeds, Options(limits=limits)).rows()
        truth = {row.url: (row.outcome, row.reason) for row in rows if row.outcome != "dropped"}
        assert len(found) == len({record.url for record in found}), "one URL, one outcome"
        got = {record.url: (record.outcome, record.reason) for record in found}
        wrong = {
            url: (got.get(url), truth.get(url)) for url in got.keys() | truth.keys() if got.get(url) != truth.get(url)
        }
        assert not wrong, [(url[:120], pair) for url, pair in wrong.items()][:10]
        assert len(truth) > 800


def test_each_page_is_asked_for_once_and_never_two_at_a_time_on_one_host(tmp_path: Path) -> None:
    with serve(WebSpec(hosts=8, pages=40, page_bytes=4_000), tmp_path / "web") as web:
        done = crawl(web, tmp_path / "out", "--scope", "any", "--delay", "20ms")
        assert done.returncode == 0
    exchanges = read_log(tmp_path / "web" / "access.tsv")
    asked = [(exchange.host, exchange.target) for exchange in exchanges]
    assert len(asked) == len(set(asked)) == 8 * 40
    last: dict[str, float] = {}
    for exchange in sorted(exchanges):
        assert exchange.start - last.get(exchange.host, 0.0) >= 0.02
        last[exchange.host] = exchange.end
    assert all(exchange.agent == "whimbrel" for exchange in exchanges)


def test_scope_depth_and_page_limits_are_kept(tmp_path: Path) -> None:
    with serve(WebSpec(hosts=8, pages=40, page_bytes=4_000), tmp_path / "web") as web:
        host = web.web.hosts.name(0)
        crawl(web, tmp_path / "host")
        assert {record.url.split("/")[2].partition(":")[0] for record in records(tmp_path / "host")} == {host}
        assert len(records(tmp_path / "host")) == 40
        crawl(web, tmp_path / "depth", "--max-depth", "1")
        assert {record.depth for record in records(tmp_path / "depth")} == {0, 1}
        done = crawl(web, tmp_path / "pages", "--max-pages", "7", "--json")
        assert json.loads(done.stdout)["visited"] == 7
        assert done.returncode == 3, "work is left"


def test_an_address_that_was_not_allowed_is_never_connected_to(tmp_path: Path) -> None:
    with serve(WebSpec(hosts=2, pages=3, page_bytes=4_000), tmp_path / "web") as web:
        command = [sys.executable, "-m", "whimbrel", "crawl", web.running.seeds[0], "--into", str(tmp_path / "out")]
        command += ["--resolver", f"127.0.0.1:{web.running.dns_port}", "--allow-network", "127.0.0.1/32"]
        done = subprocess.run(command, check=False, timeout=30, capture_output=True, text=True)
    assert done.returncode == 1
    assert "Nothing was fetched" in done.stdout
    (record,) = records(tmp_path / "out")
    assert (record.outcome, record.reason) == ("failed", "private-address")
    assert read_log(tmp_path / "web" / "access.tsv") == []


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_the_crawl_in_good_order(tmp_path: Path, how: signal.Signals) -> None:
    with serve(WebSpec(hosts=4, pages=2_000, page_bytes=4_000, latency_ms=20), tmp_path / "web") as web:
        command = [sys.executable, "-m", "whimbrel", "crawl", web.running.seeds[0], "--into", str(tmp_path / "out")]
        command += ["--delay", "0s", "--scope", "any", "--allow-network", "127.0.0.0/8"]
        command += ["--resolver", f"127.0.0.1:{web.running.dns_port}"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as crawler:
            assert crawler.stdout is not None
            crawler.stdout.readline()
            os.kill(crawler.pid, how)
            crawler.stdout.read()
            assert crawler.wait(30) == 3
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary["state"] == "stopped"
    assert summary["visited"] == len(records(tmp_path / "out")) > 0
    assert summary["left_in_connectors"] == {}
