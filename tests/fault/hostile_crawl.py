"""A crawl of hostile servers on the command line, beside a good one, and what must be true of it."""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from tests.fault.crawl import asked, rows
from tests.fault.hostile_certificate import write_root
from tests.fault.hostile_port import Case, Ledger, hostile_port
from tests.fault.memory_use import MemoryUse, measured
from tests.fault.tls_case import good

MOST_BYTES = 350_000_000
GOOD = "127.8.0.1"
GOOD_PAGES = 20
DELAY_S = 0.2
TRIES = 3
ROUNDS = 2
"""In which robots.txt is asked for."""
SETTINGS = {
    "effects.retry_s": 0.3,
    "effects.max_tries": TRIES,
    "frontier.park_s": "[0.5]",
    "qualifier.max_failures": 1,
    "qualifier.pause_s": 0.2,
    "transport.timeout_s": 8.0,
    "transport.connect_timeout_s": 4.0,
    "transport.first_byte_timeout_s": 2.0,
    "transport.idle_timeout_s": 2.0,
    "transport.max_bytes": 2_000_000,
    "journal.reserve_bytes": 1_000_000,
}


class HostileCrawl(NamedTuple):
    use: MemoryUse
    seconds: float
    ledger: Ledger
    addresses: dict[str, str]
    """Of cases."""
    endings: dict[tuple[str, str], str]
    """Outcome and reason, by case and path."""


def crawl(folder: Path, cases: Mapping[str, Case], *paths: str, timeout_s: float = 120) -> HostileCrawl:
    """Every case has an address of its own, at which these paths are seeds."""
    addresses = {name: f"127.8.{1 + at // 250}.{1 + at % 250}" for at, name in enumerate(cases)}
    servers = {addresses[name]: case for name, case in cases.items()}
    with hostile_port({**servers, GOOD: good}) as (port, ledger):
        seeds = [f"https://{GOOD}:{port}/{at}" for at in range(GOOD_PAGES)]
        seeds += [f"https://{address}:{port}{path}" for address in servers for path in paths]
        (folder / "seeds").write_text("\n".join(seeds))
        command = ["crawl", "--seeds", str(folder / "seeds"), "--into", str(folder / "crawl"), "--max-depth", "0"]
        command += ["--allow-network", "127.0.0.0/8", "--ca", str(write_root(folder)), "--delay", f"{DELAY_S}s"]
        command += ["--connections", "200", "--contact", "a@b.test"]
        for key, value in SETTINGS.items():
            command += ["--set", f"{key}={value}"]
        began_s = time.monotonic()
        use = measured(*command, timeout_s=timeout_s)
        seconds = time.monotonic() - began_s
    names = {address: name for name, address in addresses.items()}
    endings = {}
    for row in rows(folder / "crawl", "select url, outcome, reason from fetches where outcome <> 'retry'"):
        address, _, rest = row["url"].removeprefix("https://").partition(":")
        place = (names.get(address, "good"), "/" + rest.partition("/")[2])
        assert place not in endings, "one URL, one outcome"
        endings[place] = f"{row['outcome']} {row['reason']}"
    return HostileCrawl(use, seconds, ledger, addresses, endings)


def assert_unharmed(folder: Path, found: HostileCrawl) -> None:
    """The good host is whole, the crawl has ended as it should, and nobody was asked too much or too fast."""
    assert found.use.code == 0, found.use.said[-3000:]
    assert "Traceback" not in found.use.said
    assert found.use.peak_bytes < MOST_BYTES
    good_ones = [ending for (name, _), ending in found.endings.items() if name == "good"]
    assert good_ones == ["stored new"] * GOOD_PAGES
    asked("verify", str(folder / "crawl"))
    events = rows(folder / "crawl", "select action from events")
    assert [event["action"] for event in events] == ["started", "done"]
    assert "paused:" not in found.use.said, "no server's trouble is taken for ours"
    for name, address in found.addresses.items():
        paths = found.ledger.paths(address)
        assert paths.count("/robots.txt") <= ROUNDS, name
        assert all(paths.count(path) <= TRIES for path in set(paths) - {"/robots.txt"}), (name, paths)
        seeds = {path for case, path in found.endings if case == name}
        assert len(found.ledger.connections[address]) <= ROUNDS + TRIES * len(seeds), name
        assert found.ledger.shortest_gap_s(address) > 0.9 * DELAY_S, name
