"""One target for some time: child after child, each with limits."""

import os
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Final

from tests.fuzz import child
from tests.fuzz.api import Target

_BROKEN: Final = "broken.txt"


@dataclass
class Result:
    target: str
    inputs: int
    elapsed_s: float
    finds: list[Path]

    def __str__(self) -> str:
        found = ", ".join(str(path) for path in self.finds) or "nothing"
        return f"{self.target}: {self.inputs:,} inputs in {self.elapsed_s / 60:.1f} minutes; found {found}"


def fuzz(target: Target, finds: Path, seconds: float, seed: int) -> Result:
    """The seeds, then others until the time is up. What is found is in `finds`, one file for each kind, with a text
    beside it."""
    inputs = replay(target, finds, target.seeds()).inputs
    begun_s, batch = time.monotonic(), 0
    with tempfile.TemporaryDirectory(prefix="fuzz-pool-") as pool:
        while (left_s := seconds - (time.monotonic() - begun_s)) > 0:
            batch += 1
            until_s = time.monotonic() + min(left_s, child.BATCH_S)
            inputs += _changed(target, finds, Path(pool), seed * 1_000_003 + batch, partial(_is_before, until_s))
    return Result(target.name, inputs, time.monotonic() - begun_s, _found(finds))


def quick(target: Target, finds: Path, seed: int) -> Result:
    """The seeds, then a number of others, the same ones every time."""
    begun_s, inputs = time.monotonic(), replay(target, finds, target.seeds()).inputs
    with tempfile.TemporaryDirectory(prefix="fuzz-pool-") as pool:
        inputs += _changed(target, finds, Path(pool), seed, lambda count: count < target.quick_inputs)
    return Result(target.name, inputs, time.monotonic() - begun_s, _found(finds))


def _changed(target: Target, finds: Path, pool: Path, seed: int, more: Callable[[int], bool]) -> int:
    return _apart(target, finds, partial(child.fuzz, target=target, pool=pool, seed=seed, more=more))


def _is_before(until_s: float, _count: int) -> bool:
    return time.monotonic() < until_s


def replay(target: Target, finds: Path, inputs: list[bytes]) -> Result:
    """Read just these, all in one child unless it dies."""
    begun_s, count = time.monotonic(), 0
    while count < len(inputs):
        count += _apart(target, finds, partial(_take_all, inputs=inputs[count:]))
    return Result(target.name, count, time.monotonic() - begun_s, _found(finds))


def _take_all(one: child.Child, inputs: list[bytes]) -> None:
    for data in inputs:
        one.take(data)


def _apart(target: Target, finds: Path, work: Callable[[child.Child], None]) -> int:
    """In a child; how many inputs it has begun to read. One that dies leaves the last behind."""
    finds.mkdir(parents=True, exist_ok=True)
    note = child.Note(target.most_bytes)
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        _be_child(target, finds, note, work)
    _, status = os.waitpid(pid, 0)
    if status:
        death = signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else f"exit-{os.WEXITSTATUS(status)}"
        path = finds / f"{death}-{sha256(note.data).hexdigest()[:8]}"
        path.write_bytes(note.data)
        if os.WIFSIGNALED(status):
            path.with_name(f"{path.name}.txt").write_text(f"the process ended with {death}\n", encoding="ascii")
        else:
            (finds / _BROKEN).rename(path.with_name(f"{path.name}.txt"))
    return max(1, note.count)


def _be_child(target: Target, finds: Path, note: child.Note, work: Callable[[child.Child], None]) -> None:
    """Never returns."""
    code = 1
    try:
        child.quiet()
        with target.opened() as read:
            child.limit()
            work(child.Child(target, read, finds, note))
        code = 0
    except BaseException:  # noqa: BLE001 - the parent tells of it
        (finds / _BROKEN).write_text(traceback.format_exc(), encoding="utf-8", errors="backslashreplace")
    finally:
        os._exit(code)


def _found(finds: Path) -> list[Path]:
    return sorted(path for path in finds.iterdir() if path.suffix != ".txt")
