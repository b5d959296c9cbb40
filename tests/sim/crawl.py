"""Whole crawls of a simulated web by the command line, as a user makes them."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.sim.web import Served

QUICK = {
    "effects.retry_s": 0.2,
    "gate.max_crawl_delay_s": 0.05,
    "frontier.park_s": "[0.5, 1.0]",
    "qualifier.retry_s": 0.3,
    "qualifier.retry_max_s": 1.0,
    "qualifier.max_failures": 4,
    "qualifier.pause_s": 0.2,
    "transport.timeout_s": 8.0,
    "transport.connect_timeout_s": 2.0,
    "transport.first_byte_timeout_s": 4.0,
    "transport.idle_timeout_s": 3.0,
    "transport.min_speed_window_s": 2.0,
    "transport.max_bytes": 5_000_000,
    "resolver.timeout_s": 2.5,
    "resolver.tries": 4,
    "resolver.failure_ttl_s": 0.1,
    "journal.reserve_bytes": 1_000_000,
}
"""A patience that fits a simulated web: what never answers is given up in seconds, not in days."""


def options(served: Served, **settings: Any) -> list[str]:
    """Options of a crawl that goes to the served web only, without delays."""
    running = served.running
    command = ["--scope", "any", "--max-depth", "0", "--delay", "0s", "--allow-network", "127.0.0.0/8"]
    command += ["--resolver", f"127.0.0.1:{running.dns_port}", "--ca", running.ca]
    for key, value in {**QUICK, **settings}.items():
        command += ["--set", f"{key}={value}"]
    return command


def whimbrel(*arguments: str, timeout_s: float = 300) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "whimbrel", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout_s, check=False)


def crawled(served: Served, into: Path, *more: str, timeout_s: float = 300, **settings: Any) -> dict[str, Any]:
    """Crawl the whole web from its seeds; the summary."""
    command = ["crawl", *served.running.seeds, "--into", str(into), "--json", *options(served, **settings), *more]
    done = whimbrel(*command, timeout_s=timeout_s)
    assert done.returncode == 0, done.stderr[-3000:] + done.stdout[-2000:]
    found: dict[str, Any] = json.loads(done.stdout)
    return found
