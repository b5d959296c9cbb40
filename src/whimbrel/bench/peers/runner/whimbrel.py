"""Whimbrel itself, as anybody calls it."""

import compileall
import sys
from pathlib import Path
from typing import Final

import whimbrel
from whimbrel.bench.peers.api import CorpusName, PeerTask
from whimbrel.bench.peers.runner.program import script
from whimbrel.version import __version__

_MANY_SEEDS: Final = 200
"""More than these go through a file."""


class Whimbrel:
    name = "whimbrel"
    sampled: frozenset[CorpusName] = frozenset()
    needs_private = False
    extracts = True
    settings = "every default but scope, delay and connections; what it kept is listed below"

    def version(self) -> str | None:
        return __version__

    def command(self, visit: PeerTask) -> list[str]:
        # Peers were compiled when they were installed; a clone that may not write bytecode is compiled at every start.
        compileall.compile_dir(Path(whimbrel.__file__).parent, quiet=2)
        few = len(visit.seeds) <= _MANY_SEEDS
        command = [sys.executable, "-m", "whimbrel", "crawl", *(visit.seeds if few else ())]
        command += [] if few else ["--seeds", visit.seed_file]
        command += ["--into", f"{visit.into}/crawl", "--scope", "any", "--delay", "0s"]
        command += ["--connections", str(visit.connections), "--resolver", visit.resolver]
        command += ["--with", script("quotes.py"), "--follow", "handlers"] if visit.corpus == "quotes" else []
        return [*command, "--ca", visit.ca, "--allow-network", "127.0.0.0/8"]
