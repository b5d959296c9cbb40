"""The comparison as a process: `python -m whimbrel.bench.peers PLAN.json FOUND.json`, started by `start.py`."""

import sys
from pathlib import Path

import msgspec

from whimbrel.bench.peers.api import PeersError, PeersPlan
from whimbrel.bench.peers.compare import compare
from whimbrel.bench.peers.private import settle


def main() -> int:
    plan_file, found_file = map(Path, sys.argv[1:])
    plan = msgspec.json.decode(plan_file.read_bytes(), type=PeersPlan)
    try:
        if plan.is_private:
            settle(plan_file.parent)
        found = compare(plan, _say)
    except PeersError as error:
        _say(str(error))
        return 1
    found_file.write_bytes(msgspec.json.encode(found))
    return 0


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main())
