"""Whimbrel itself, as anybody calls it."""

import sys
from typing import Final

from whimbrel.bench.peers.api import CorpusName, Visit
from whimbrel.version import __version__

_MANY_SEEDS: Final = 200
"""More than these go through a file."""


class Whimbrel:
    name = "whimbrel"
    sampled: frozenset[CorpusName] = frozenset()
    needs_private = False
    settings = "every default but scope, delay and connections; what it kept is listed below"

    def version(self) -> str | None:
        return __version__

    def command(self, visit: Visit) -> list[str]:
        few = len(visit.seeds) <= _MANY_SEEDS
        command = [sys.executable, "-m", "whimbrel", "crawl", *(visit.seeds if few else ())]
        command += [] if few else ["--seeds", visit.seed_file]
        command += ["--into", f"{visit.into}/crawl", "--scope", "any", "--delay", "0s"]
        command += ["--connections", str(visit.connections), "--resolver", visit.resolver]
        return [*command, "--ca", visit.ca, "--allow-network", "127.0.0.0/8"]
