"""The benchmarks run, and the framework keeps its bounds."""

import json
import shutil
import subprocess
import sys

import pytest


def bench(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "whimbrel", "bench", *arguments, "--json"]
    return subprocess.run(command, capture_output=True, text=True, timeout=55, check=False)


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
