"""Crawlee for Python: a ParselCrawler that enqueues every link."""

from pathlib import Path

from whimbrel.bench.peers.api import CorpusName, PeerTask
from whimbrel.bench.peers.runner.program import library_version, script


class Crawlee:
    name = "crawlee"
    sampled: frozenset[CorpusName] = frozenset(("documents", "small", "realistic"))
    needs_private = True
    extracts = False
    settings = "ParselCrawler with enqueue_links, robots.txt obeyed, storage in memory, certificates not checked"

    def __init__(self, environment: Path) -> None:
        self._environment = environment

    def version(self) -> str | None:
        return library_version(self._environment, "crawlee")

    def command(self, visit: PeerTask) -> list[str]:
        python = str(self._environment / "bin" / "python")
        return [python, "-P", script("crawlee_peer.py"), visit.seed_file, str(visit.connections)]
