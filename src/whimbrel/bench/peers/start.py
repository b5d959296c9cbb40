"""Start the comparison in its private place and take its findings back."""

import subprocess
import sys
import tempfile
from contextlib import nullcontext
from pathlib import Path

import msgspec

from whimbrel.bench.peers.api import CorpusSpec, PeersError, PeersPlan, PeersResult
from whimbrel.bench.peers.private import find_way


class PeersOptions(msgspec.Struct, frozen=True, kw_only=True):
    corpora: list[CorpusSpec]
    peers: list[str]
    peers_env: Path
    work: Path | None
    """Keeps the corpora for the next time; None is a folder that goes when we end."""
    sample: int
    rounds: int
    connections: int
    timeout_s: float


def start(options: PeersOptions) -> PeersResult:
    """Says on stderr what it is doing. PeersError when it cannot go on."""
    kept = options.work
    with tempfile.TemporaryDirectory(prefix="whimbrel-peers-") if kept is None else nullcontext(kept) as folder:
        work = Path(folder).absolute()
        work.mkdir(parents=True, exist_ok=True)
        way = find_way()
        plan = PeersPlan(
            corpora=options.corpora,
            peers=options.peers,
            peers_env=str(options.peers_env.absolute()),
            work=str(work),
            sample=options.sample,
            rounds=options.rounds,
            connections=options.connections,
            timeout_s=options.timeout_s,
            is_private=way is not None,
        )
        plan_file, found_file = work / "plan.json", work / "found.json"
        plan_file.write_bytes(msgspec.json.encode(plan))
        found_file.unlink(missing_ok=True)
        command = [*(way or []), sys.executable, "-m", "whimbrel.bench.peers", str(plan_file), str(found_file)]
        done = subprocess.run(command, stdout=sys.stderr, check=False)  # noqa: S603
        if done.returncode != 0 or not found_file.exists():
            raise PeersError("the comparison did not finish; it says why above")
        return msgspec.json.decode(found_file.read_bytes(), type=PeersResult)
