"""Which calls fail, many crawls side by side, and a table of what became of them: `python -m tests.inject.campaign`."""

import argparse
import errno
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from queue import Empty, Queue
from random import Random
from typing import Final, NamedTuple

import msgspec

from tests.inject.found import Found
from tests.inject.trial import PHASES, SHORT, Ended, Fault, Launcher, Trial
from tests.inject.web import LEAVES, Web, served

_DISK: Final = (errno.ENOSPC, errno.EDQUOT, errno.EIO)
_FILES: Final = (errno.EMFILE, errno.ENFILE)
_MEMORY: Final = (errno.ENOMEM, errno.ENOBUFS)
_ERRORS: Final = {
    "write": (*_DISK, errno.EINTR, SHORT),
    "sync": (*_DISK, errno.EINTR),
    "create": (*_DISK, *_FILES, errno.EINTR),
    "open": (errno.EIO, *_FILES, errno.ENOMEM, errno.EINTR),
    "read": (errno.EIO, errno.EINTR),
    "rename": _DISK,
    "mkdir": _DISK,
    "link": _DISK,
    "unlink": (errno.EIO,),
    "truncate": (errno.ENOSPC, errno.EIO),
    "mmap": (errno.ENOMEM,),
    "socket": (*_FILES, *_MEMORY),
    "connect": (errno.EADDRNOTAVAIL, errno.EAGAIN, *_MEMORY, errno.EINTR),
    "bind": (errno.EADDRINUSE, errno.EADDRNOTAVAIL),
    "accept": (*_FILES, *_MEMORY),
    "pipe": _FILES,
    "epoll": (errno.ENOSPC, errno.ENOMEM),
    "fork": (errno.EAGAIN, errno.ENOMEM),
    "thread": (errno.EAGAIN,),
    "send": (*_MEMORY, errno.EINTR),
    "receive": (errno.ENOMEM, errno.EINTR),
    "allocate": (errno.ENOMEM,),
}
"""What the system may say to each kind of call."""
_STREAMS: Final = ("socket", "pipe", "anon_inode", "/dev/")
"""What is no file: a disk cannot be full there."""


def errors_of(place: str) -> Sequence[int]:
    kind, _, what = place.split("|", 2)
    if what.startswith(_STREAMS):
        return {"write": (errno.EINTR,), "read": (errno.EINTR,), "send": _ERRORS["send"]}.get(kind, _ERRORS[kind])
    return _ERRORS[kind]


def planned(counts: dict[str, dict[str, int]], per_place: int, per_allocation: int) -> Iterator[Fault]:
    """Every call of every place, or as many of them, evenly spread, as are wanted."""
    for phase, places in counts.items():
        for place, count in sorted(places.items()):
            most = per_allocation if place.startswith("allocate") else per_place
            for error in errors_of(place):
                for nth in _spread(count, most):
                    yield Fault(phase, place, nth, error)


def _spread(count: int, most: int) -> Iterable[int]:
    if count <= most:
        return range(1, count + 1)
    if most == 1:
        return [1 + count // 2]
    return sorted({1 + round(number * (count - 1) / (most - 1)) for number in range(most)})


class Campaign(NamedTuple):
    """Crawls side by side."""

    shim: Path
    into: Path
    web: Web

    def reference(self) -> tuple[Found, dict[str, dict[str, int]]]:
        with Launcher(self.shim) as launcher:
            trial = Trial(launcher, self.web, self.into / "reference", "reference")
            for _ in range(2):  # the second has all modules imported, as those have that come after it
                ended = trial.run(None, None)
                assert ended.findings == (), ended
                trial.warm()
            return trial.found(), {phase: trial.counts(phase) for phase in PHASES}

    def run(
        self, faults: Iterable[Fault], reference: Found, slots: int, until_s: float = float("inf")
    ) -> Iterator[Ended]:
        waiting: Queue[tuple[int, Fault]] = Queue()
        for entry in enumerate(faults):
            waiting.put(entry)
        done: Queue[Ended | None] = Queue()

        def work(slot: int) -> None:
            try:
                with Launcher(self.shim) as launcher:
                    Trial(launcher, self.web, self.into / "reference", "").warm()
                    while time.monotonic() < until_s:
                        number, fault = waiting.get_nowait()
                        trial = Trial(launcher, self.web, self.into / f"slot-{slot}", str(number))
                        ended = trial.run(fault, reference)
                        if ended.findings:
                            shutil.copytree(
                                self.into / f"slot-{slot}", self.into / f"found-{number}", dirs_exist_ok=True
                            )
                        done.put(ended._replace(number=number))
            except Empty:
                pass
            finally:
                done.put(None)

        threads = [threading.Thread(target=work, args=(slot,), daemon=True) for slot in range(slots)]
        for thread in threads:
            thread.start()
        left = slots
        while left:
            ended = done.get()
            if ended is None:
                left -= 1
            else:
                yield ended


def compiled(into: Path) -> Path:
    shim = into / "shim.so"
    source = Path(__file__).with_name("shim.c")
    subprocess.run(["gcc", "-O2", "-shared", "-fPIC", "-o", str(shim), str(source), "-ldl", "-lpthread"], check=True)
    return shim


def table(ends: Iterable[Ended]) -> str:
    """By kind and place: faults met; crawls that went on, that ended, that a signal ended; and findings."""
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for ended in ends:
        assert ended.fault
        row = found[ended.fault.place if ended.fault.kind != "allocate" else "|".join(ended.fault.place.split("|")[:2])]
        code = ended.codes[PHASES.index(ended.fault.phase)]
        row["met" if ended.fired else "missed"] += 1
        if ended.fired:
            row["went on" if code == 0 else "killed" if isinstance(code, int) and code < 0 else "ended"] += 1
        row["findings"] += bool(ended.findings)
    columns = ("met", "went on", "ended", "killed", "findings", "missed")
    lines = [f"{'place':70}" + "".join(f"{name:>10}" for name in columns)]
    lines += [
        f"{name[:70]:70}" + "".join(f"{row[column]:10}" for column in columns) for name, row in sorted(found.items())
    ]
    total = Counter[str]()
    for row in found.values():
        total.update(row)
    lines.append(f"{'all':70}" + "".join(f"{total[column]:10}" for column in columns))
    return "\n".join(lines)


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--slots", type=int, default=4, help="crawls side by side")
    parser.add_argument("--per-place", type=int, default=4, help="calls of one place that fail")
    parser.add_argument("--per-allocation", type=int, default=1, help="the same of places that allocate")
    parser.add_argument("--only", default="", help="places that contain this")
    parser.add_argument("--but", default="", help="no places that contain this")
    parser.add_argument("--sample", type=int, default=0, help="so many of them, at random")
    parser.add_argument("--leaves", type=int, default=LEAVES, help="pages of one kind; 2300 make a crawl of 2,000")
    parser.add_argument("--minutes", type=float, default=600.0)
    parser.add_argument("--fault", default="", help="one alone, as JSON")
    parser.add_argument("--into", type=Path)
    chosen = parser.parse_args()
    into = chosen.into or Path(tempfile.mkdtemp(prefix="whimbrel-inject-"))
    into.mkdir(parents=True, exist_ok=True)
    ends = []
    with served(chosen.leaves) as web:
        campaign = Campaign(compiled(into), into, web)
        reference, counts = campaign.reference()
        faults = [
            fault for fault in planned(counts, chosen.per_place, chosen.per_allocation) if chosen.only in fault.place
        ]
        faults = [fault for fault in faults if not chosen.but or chosen.but not in fault.place]
        if chosen.fault:
            faults = [msgspec.json.decode(chosen.fault, type=Fault)]
        Random(1).shuffle(faults)  # noqa: S311 - which come first when time is short
        faults = faults[: chosen.sample or None]
        _say(f"{len(faults)} faults")
        until_s = time.monotonic() + 60 * chosen.minutes
        for ended in campaign.run(faults, reference, chosen.slots, until_s):
            ends.append(ended)
            if ended.findings:
                _say("\n    ".join((f"found-{ended.number} {ended.fault} {ended.codes}", *ended.findings)))
                _say("    " + msgspec.json.encode(ended.fault).decode())
    _say(table(ends))
    sys.exit(any(ended.findings for ended in ends))


if __name__ == "__main__":
    main()
