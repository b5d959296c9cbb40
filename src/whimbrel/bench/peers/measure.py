"""One run of one peer: start it on its core, watch its memory, count what the server sent and what it kept."""

import os
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import msgspec
import psutil

from whimbrel.bench.peers.api import Peer, PeerRun, PeersError, PeerTask
from whimbrel.bench.peers.runner.program import script

_SAMPLE_S: Final = 0.2
_ENOUGH: Final = 0.99
_MAX_KINDS: Final = 12
_QUIET: Final = 0.1
"""Other work on the core beyond this share makes figures that are not to be quoted."""


class _Used(msgspec.Struct, frozen=True):
    """What the reaper writes."""

    cpu_s: float
    elapsed_s: float
    largest_mb: float
    exit_code: int


class Attempt(msgspec.Struct, frozen=True):
    """Which run this is, and what it may take."""

    corpus: str
    round: int
    expected: int
    core: int | None
    timeout_s: float


def measure(peer: Peer, visit: PeerTask, attempt: Attempt, state: Path) -> Callable[[list[str]], PeerRun]:
    """Returns what makes a Run of the pages in the server's log, which is whole only when the server has ended."""
    result, output = state / "used.json", state / "peer.out"
    core = "any" if attempt.core is None else str(attempt.core)
    command = [sys.executable, "-I", "-S", script("reap.py"), str(result), core, *peer.command(visit)]
    busy_s = _busy_s(attempt.core)
    with output.open("wb") as said:
        # A home of its own: what a peer remembers of hosts (HSTS, TLS sessions) is not carried into the next run.
        home = {**os.environ, "HOME": str(state)}
        process = subprocess.Popen(command, stdout=said, stderr=said, cwd=state, env=home)  # noqa: S603
        peak_mb, is_late = _watch(process, attempt.timeout_s)
    if not result.exists():
        raise PeersError(f"{peer.name} could not be started: {_tail(output)}")
    used = msgspec.json.decode(result.read_bytes(), type=_Used)
    others = None if attempt.core is None else (_busy_s(attempt.core) - busy_s - used.cpu_s) / used.elapsed_s
    kept = _kept(Path(visit.into))
    shutil.rmtree(visit.into)

    def run(pages: list[str]) -> PeerRun:
        different = len(set(pages))
        return PeerRun(
            corpus=attempt.corpus,
            peer=peer.name,
            round=attempt.round,
            pages=different,
            expected=attempt.expected,
            fetches=len(pages),
            cpu_s=used.cpu_s,
            elapsed_s=used.elapsed_s,
            peak_mb=max(peak_mb, used.largest_mb),
            stored_bytes=sum(kept.values()),
            kept=kept,
            exit_code=used.exit_code,
            others=others,
            note="; ".join(_notes(different, attempt, used, is_late=is_late, said=_tail(output), others=others)),
        )

    return run


def _watch(process: subprocess.Popen[bytes], timeout_s: float) -> tuple[float, bool]:
    """The largest sum of its processes' resident memory, and whether it was stopped for being late."""
    reaper, peak, deadline, is_late = psutil.Process(process.pid), 0, time.monotonic() + timeout_s, False
    try:
        while process.poll() is None:
            peak = max(peak, _resident(reaper))
            if not is_late and time.monotonic() > deadline:
                is_late = True
                process.terminate()
            time.sleep(_SAMPLE_S)
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait()
    return peak / 2**20, is_late


def _resident(reaper: psutil.Process) -> int:
    total = 0
    try:
        for process in reaper.children(recursive=True):
            total += process.memory_info().rss
    except psutil.NoSuchProcess:
        return total
    return total


def _notes(
    pages: int, attempt: Attempt, used: _Used, *, is_late: bool, said: str, others: float | None
) -> Iterator[str]:
    if is_late:
        yield f"stopped after {attempt.timeout_s:.0f} s with {pages:,} of {attempt.expected:,} pages"
    elif pages < attempt.expected * _ENOUGH:
        why = f"exit code {used.exit_code}: {said}" if used.exit_code else "and it ended as if that were all"
        yield f"only {pages:,} of {attempt.expected:,} pages, {why}"
    if others is not None and others > _QUIET:
        yield f"other work took {others:.0%} of its core: do not quote"


def _busy_s(core: int | None) -> float:
    """How long a core has been busy since the machine started: all but idle and waiting for disks (proc(5))."""
    if core is None:
        return 0.0
    for line in Path("/proc/stat").read_text(encoding="ascii").splitlines():
        name, *times = line.split()
        if name == f"cpu{core}":
            user, nice, system, _idle, _wait, irq, softirq, steal = map(int, times[:8])
            return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")
    return 0.0


def _kept(folder: Path) -> dict[str, int]:
    """Bytes by the endings of file names; the rarest kinds are put together."""
    kinds: Counter[str] = Counter()
    for place, _, names in os.walk(folder):
        for name in names:
            kinds[Path(name).suffix or name] += (Path(place) / name).stat().st_size
    kept = dict(kinds.most_common(_MAX_KINDS))
    rest = kinds.total() - sum(kept.values())
    return {**kept, "other": rest} if rest else kept


def _tail(output: Path) -> str:
    text = output.read_text(encoding="utf-8", errors="replace").strip()
    return " ".join(text[-300:].split()) or "it said nothing"
