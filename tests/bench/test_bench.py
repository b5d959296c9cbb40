"""The benchmarks run, and the framework keeps its bounds."""

import json
import os
import shutil
import subprocess
import sys

import pytest


def bench(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "whimbrel", "bench", *arguments, "--json"]
    # NiceGUI behaves differently where it finds pytest's mark.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    return subprocess.run(command, capture_output=True, text=True, timeout=55, check=False, env=environment)


def test_a_direct_hop_costs_at_most_1_us_over_a_call_and_a_queue_hop_5_us() -> None:
    done = bench("flow")
    assert done.returncode == 0, done.stdout + done.stderr
    rows = json.loads(done.stdout)
    assert [row["hop"] for row in rows][:2] == ["plain call", "direct"]
    assert next(row for row in rows if row["hop"] == "direct")["over_call_us"] <= 1.0
    assert all(row["cost_us"] <= 5.0 for row in rows if row["hop"] == "queue" and row["batch"] >= 16)


@pytest.mark.skipif(shutil.which("wrk") is None, reason="wrk is not installed")
def test_the_simulated_web_serves_a_million_hosts_without_errors_in_little_memory() -> None:
    done = bench("simweb", "--seconds", "2")
    assert done.returncode in (0, 1), done.stderr
    found = json.loads(done.stdout)
    assert found["hosts"] == 1_000_000
    assert found["errors"] == 0
    assert found["server_peak_mb"] < 200
    assert found["pages_per_s"] > 1_000, "a figure far from the bound means that something is broken, not slow"
    assert 26_000 < found["bytes_per_page"] < 31_000


def test_a_crawl_goes_on_with_a_state_that_was_built_and_says_what_it_costs() -> None:
    sizes = ["--known", "5000", "--hosts", "400", "--one-host", "500", "--taken", "400"]
    done = bench("scale", *sizes, "--time", "4s")
    assert done.returncode in (0, 1), done.stderr
    found = json.loads(done.stdout)
    assert found["built"]["known"] == 5_000
    assert found["built"]["queued"] == 400 * 3 + 500 - 400 + 1, "and the seed"
    assert found["small"]["visits"] > 20
    assert found["large"]["visits"] > 100
    assert found["large"]["first_s"] < 10


def test_a_slot_of_a_state_that_was_built_moves_with_nothing_left_and_nothing_changed() -> None:
    done = bench("slot", "--urls", "5000")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["unchanged"]
    assert found["left_behind"] == 0
    assert 4_000 <= found["slot_urls"] < found["urls"] == 5_000
    assert 0 < found["exported_bytes"] < found["pair_bytes"]


def test_a_crawl_of_slow_hosts_keeps_many_of_them_busy() -> None:
    done = bench("wide", "--hosts", "50", "--pages", "3")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["share"] > 0.3


def test_questions_to_tables_that_are_made_up_are_answered() -> None:
    done = bench("query", "--pages", "3000", "--links", "4")
    assert done.returncode == 0, done.stderr
    rows = {one["name"]: one["rows"] for one in json.loads(done.stdout)}
    assert rows == {"group-by": 20, "in-degree": 20, "join": 20, "near-duplicates": 1}


@pytest.mark.long
def test_questions_beside_a_crawl_see_whole_commits() -> None:
    done = bench("overhead", "--hosts", "10", "--rounds", "1", "--cycles", "2", "--turn", "2s")
    # Whether it is within its bar on a machine that does other things is not for a test to say.
    assert done.returncode in (0, 1), done.stderr
    found = json.loads(done.stdout)
    assert found["wrong"] == []
    assert found["questions"] > 0
    assert found["turns_ms"].keys() == {"alone", "spinning", "asked"} | (
        {"watched"} if shutil.which("chromium") else set()
    )
    assert all(0.2 < each < 50 for turns in found["turns_ms"].values() for each in turns)
