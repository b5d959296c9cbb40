"""Scrapy: the usual spider that follows every link."""

from pathlib import Path

from whimbrel.bench.peers.api import CorpusName, PeerTask
from whimbrel.bench.peers.runner.program import library_version, script


class Scrapy:
    name = "scrapy"
    sampled: frozenset[CorpusName] = frozenset(("documents", "small", "realistic", "quotes"))
    needs_private = True
    extracts = True
    settings = (
        "CrawlSpider with LinkExtractor, robots.txt obeyed, JOBDIR off, certificates not checked, nothing kept; "
        "for quotes the tutorial's spider with items as JSON lines"
    )

    def __init__(self, environment: Path) -> None:
        self._environment = environment

    def version(self) -> str | None:
        return library_version(self._environment, "scrapy")

    def command(self, visit: PeerTask) -> list[str]:
        # -P: the script's own folder is no place to import from.
        python = str(self._environment / "bin" / "python")
        items = [f"{visit.into}/items.jsonl"] if visit.corpus == "quotes" else []
        return [python, "-P", script("scrapy_peer.py"), visit.seed_file, str(visit.connections), *items]
