"""The process that reads inputs. It may die."""

import faulthandler
import gc
import hashlib
import mmap
import os
import resource
import signal
import struct
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Final

from tests.fuzz.api import Read, Target
from tests.fuzz.coverage import Coverage
from tests.fuzz.mutation import mutated

BATCH_S: Final = 60.0
_HEAD: Final = struct.Struct("<QQ")
_KEPT_BYTES: Final = 20_000
"""Longer inputs are not changed further: they would slow all others down."""
_MOST_ADDRESSES: Final = 6_000_000_000
"""Bytes of address space, by which a process may grow: databases take much that they never use."""
_MADE_UP: Final = 0.4
_FOLLOWED: Final = 0.1
_SLOWER: Final = 15
"""Times that an input takes which is followed."""
_KILLED_AFTER: Final = 5
"""Times the CPU time that an input may take."""
_KILLED_AFTER_S: Final = 60.0
"""Of waiting: on a busy machine a test of sockets takes a while."""


class Note:
    """What is being read, in memory that parent and child share: it is there when the child has died."""

    def __init__(self, most_bytes: int) -> None:
        self._memory = mmap.mmap(-1, _HEAD.size + most_bytes)

    def begin(self, data: bytes) -> None:
        count, _ = _HEAD.unpack_from(self._memory)
        self._memory[: _HEAD.size + len(data)] = _HEAD.pack(count + 1, len(data)) + data

    @property
    def count(self) -> int:
        """Of inputs that were begun."""
        found: int = _HEAD.unpack_from(self._memory)[0]
        return found

    @property
    def data(self) -> bytes:
        """The last of them."""
        _, length = _HEAD.unpack_from(self._memory)
        return self._memory[_HEAD.size : _HEAD.size + length]


class Child:
    """Reads inputs of one target within limits, and leaves what it finds in a folder."""

    def __init__(self, target: Target, read: Read, finds: Path, note: Note) -> None:
        self._target = target
        self._read = read
        self._finds = finds
        self._note = note

    def take(self, data: bytes, coverage: Coverage | None = None) -> None:
        """Read an input, and follow which lines it reaches if that is wanted; it may take longer then."""
        self._note.begin(data)
        most_s = self._target.most_s * max(1.0, len(data) / 1_000_000) * (1.0 if coverage is None else _SLOWER)
        before_kb = _forget_peak()
        signal.setitimer(signal.ITIMER_PROF, _KILLED_AFTER * most_s)
        signal.setitimer(signal.ITIMER_REAL, _KILLED_AFTER_S)
        begun_s = time.process_time()
        try:
            if coverage is None:
                self._read(data)
            else:
                coverage.follow(self._read, data)
        except BaseException as error:  # noqa: BLE001 - whatever it is, it should not have been raised
            self._keep(data, _place(error), traceback.format_exc())
            return
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.setitimer(signal.ITIMER_REAL, 0)
        used_s, grown_mb = time.process_time() - begun_s, (_status_kb("VmHWM") - before_kb) // 1024
        if used_s > most_s or grown_mb > self._target.most_mb:
            self._keep(data, "slow" if used_s > most_s else "large", f"{used_s:.2f} s, {grown_mb:,} MB\n")

    def _keep(self, data: bytes, what: str, why: str) -> None:
        """One of each kind, the shortest."""
        path = self._finds / what
        if not path.exists() or path.stat().st_size > len(data):
            path.write_bytes(data)
            path.with_name(f"{what}.txt").write_text(why, encoding="utf-8", errors="backslashreplace")


def fuzz(child: Child, target: Target, pool: Path, seed: int, more: Callable[[int], bool]) -> None:
    """Read mutated and made-up inputs as long as `more` says so of their count. Those that reach new lines go to
    `pool`."""
    dice, coverage = Random(seed), Coverage()  # noqa: S311
    seeds = target.seeds() + [path.read_bytes() for path in sorted(pool.iterdir())]
    for data in seeds:
        child.take(data, coverage)
    count = 0
    while more(count):
        count += 1
        data = _next_input(dice, target, seeds)
        if dice.random() > _FOLLOWED:
            child.take(data)
            continue
        child.take(data, coverage)
        if coverage.is_new and len(data) < _KEPT_BYTES:
            seeds.append(data)
            (pool / hashlib.sha256(data).hexdigest()[:16]).write_bytes(data)


def _next_input(dice: Random, target: Target, seeds: list[bytes]) -> bytes:
    make_up = target.make_up
    if make_up is not None and dice.random() < _MADE_UP:
        made = make_up(dice)[: target.most_bytes]
        return mutated(dice, made, seeds, target.words, target.most_bytes) if dice.random() < 0.3 else made
    return mutated(dice, dice.choice(seeds), seeds, target.words, target.most_bytes)


def limit() -> None:
    """Limit the address space: it stops what a look afterwards would be too late for."""
    gc.freeze()
    faulthandler.disable()
    most = _status_kb("VmSize") * 1024 + _MOST_ADDRESSES
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _place(error: BaseException) -> str:
    """A name for a finding: what was raised, and where."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if "/whimbrel/" in frame.filename or "/tests/fuzz/target/" in frame.filename]
    last = (own or list(frames))[-1]
    return f"{type(error).__name__}-{Path(last.filename).stem}-{last.lineno}"


def _status_kb(name: str) -> int:
    with open("/proc/self/status", encoding="ascii") as status:  # noqa: PTH123 - once for each input
        return next(int(line.split()[1]) for line in status if line.startswith(name))


def _forget_peak() -> int:
    """The memory of this process now, which its peak is set to. `getrusage` would count what the parent had."""
    with open("/proc/self/clear_refs", "w", encoding="ascii") as file:  # noqa: PTH123
        file.write("5")
    return _status_kb("VmHWM")


def quiet() -> None:
    """What inputs make the package say is not looked at."""
    sys.stdout.flush()
    with Path(os.devnull).open("w") as nowhere:
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
