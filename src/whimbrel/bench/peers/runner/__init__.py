"""How each peer is called, one file for each, and what its settings mean for the comparison.

A *runner* knows whether its program is installed and which version, and turns a visit (seeds, folder, connections) into
a command line. It starts nothing itself: all peers are started, pinned, timed and counted in the same way, by
`measure.py`. Settings are the same where a peer can: no delay, robots.txt obeyed, as many connections as asked for,
every host allowed, each page once. Runners hold no state but where their program is: `whimbrel.py`, `wget2.py`,
`wget.py`, `scrapy.py` and `crawlee.py`. `program.py` finds out which version of a program is installed.
"""

from pathlib import Path

from whimbrel.bench.peers.api import Peer
from whimbrel.bench.peers.runner.crawlee import Crawlee
from whimbrel.bench.peers.runner.scrapy import Scrapy
from whimbrel.bench.peers.runner.wget import Wget
from whimbrel.bench.peers.runner.wget2 import Wget2
from whimbrel.bench.peers.runner.whimbrel import Whimbrel

NAMES = ("whimbrel", "wget2", "wget", "scrapy", "crawlee")


def peers(environment: Path) -> list[Peer]:
    """All peers in the order of `NAMES`; `environment` is where the Python ones are installed."""
    return [Whimbrel(), Wget2(), Wget(), Scrapy(environment), Crawlee(environment)]
